"""One rank of a script that is looked at: the instruments are laid on, then the script runs as it would alone."""

import atexit
import os
import sys
import traceback
import types
from pathlib import Path

import torch.distributed as dist

from ddp_lessons.doctor.journal import Journal, is_readers
from ddp_lessons.doctor.limit import LimitReached, end_at_limit
from ddp_lessons.doctor.watch import INSTRUMENTS


def watch(folder: Path, limit: int | None, script: str, arguments: list[str]) -> None:
    """Run a script as the main module, and write down what it does; `limit` is after how many steps it ends.

    Events: `begin`; `end` with `how` ("done", "limit", "exit" with its `code`, a number, and the `text` that it prints,
    "error" with `error`), whose place is the line that failed or exited; `left`, at the very end, with
    `joined`: whether it is still in a group.
    """
    journal = Journal(folder, int(os.environ["RANK"]))
    journal.note("begin", process=os.getpid())
    atexit.register(lambda: journal.note("left", joined=dist.is_initialized()))  # after those of the script
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    for instrument in INSTRUMENTS:
        instrument.install(journal, limit)
    try:
        run_as_main(script)
    except LimitReached:
        end_at_limit(journal)
    except SystemExit as end:
        is_number = isinstance(end.code, int | None)  # any other is printed, and the code is 1
        code, text = (int(end.code or 0), "") if is_number else (1, str(end.code))
        journal.note("end", how="exit", code=code, text=text, place=raised_at(end))
        raise
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
        journal.note("end", how="error", error=text, place=raised_at(error))
        raise
    journal.note("end", how="done")


def raised_at(error: BaseException) -> list | None:
    """Return the reader's line that an error was raised at."""
    places = [[frame.filename, frame.lineno] for frame in traceback.extract_tb(error.__traceback__)]
    return next((at for at in reversed(places) if is_readers(at[0])), None)


def run_as_main(script: str) -> None:
    """Run a script as Python itself would, as the main module, which stays there until the process ends."""
    main = types.ModuleType("__main__")
    main.__file__ = script
    sys.modules["__main__"] = main
    exec(compile(Path(script).read_bytes(), script, "exec"), main.__dict__)  # noqa: S102 (it is the reader's own)


if __name__ == "__main__":
    folder, limit, script, *arguments = sys.argv[1:]
    watch(Path(folder), int(limit) or None, script, arguments)
