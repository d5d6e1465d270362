"""What a script was seen to do: a reader's, run as its command would, or the given one, in this process."""

import contextlib
import functools
import io
import json
import pickle
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch

from ddp_lessons.workbench import scripts
from ddp_lessons.workbench.exercises.convert import mistakes, witness
from ddp_lessons.workbench.launch import LaunchError, stream

WEIGHTS = "weights.pth"  # the file that --save is to name


@dataclass
class Seen:
    """What a run was seen to do: its lines, the weights it saved, why it failed, and notes on each rank."""

    lines: list[str]
    weights: object = None
    error: str = ""
    notes: dict[int, list] = field(default_factory=dict)

    def of(self, kind: str) -> list[list]:
        """Return what was noted of one kind, a list for each rank."""
        return [[what for key, what in notes if key == kind] for _, notes in sorted(self.notes.items())]


@functools.cache
def answer_of(text: str, data: Path, ranks: int = 1, change: tuple[tuple[str, str], ...] = ()) -> Seen:
    """Run the given script in this process, with a change in it, and return what it does."""
    for old, new in change:
        assert old in text, old
        text = text.replace(old, new)
    notes, printed = [], io.StringIO()
    names = {name: thing for name, thing in vars(mistakes).items() if callable(thing)}
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng():
        with in_a_process(["script", "--data", str(data), "--save", f"{folder}/{WEIGHTS}"]):
            hook = witness.note_rows(lambda kind, what: notes.append([kind, what]))
            try:
                with contextlib.redirect_stdout(printed):
                    exec(text, names | {"__name__": "__main__", "WORLD": ranks})  # noqa: S102 (it is the course's own)
            finally:
                hook.remove()
        return Seen(printed.getvalue().splitlines(), load(Path(folder)), notes={0: notes})


@contextlib.contextmanager
def in_a_process(command_line: list[str]) -> Iterator[None]:
    """Have a script believe that it was called in a process of its own: with a command line, and on one thread."""
    ours, threads = sys.argv, torch.get_num_threads()
    try:
        sys.argv = command_line
        torch.set_num_threads(1)  # these models are too small for two
        yield
    finally:
        sys.argv = ours
        torch.set_num_threads(threads)


def load(folder: Path) -> object:
    """Return the weights that a script has saved; None where it has not, and the error where they cannot be read."""
    try:
        return torch.load(folder / WEIGHTS, weights_only=True)
    except FileNotFoundError:
        return None
    except (EOFError, OSError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
        return error


def watched(path: Path, ranks: int | None, stuck: float) -> Seen:
    """Run a script as its command would, which is printed, and see what it does."""
    command = ["python"] if ranks is None else ["torchrun", "--standalone", "--nproc-per-node", str(ranks)]
    with tempfile.TemporaryDirectory(prefix="ddp_lessons-") as folder:
        save = ["--save", f"{folder}/{WEIGHTS}"]
        print("$ OMP_NUM_THREADS=1", shlex.join([*command, str(path.relative_to(scripts.ROOT)), *save]), flush=True)
        arguments = [witness.__file__, folder, str(path), *save]
        if ranks is not None:
            arguments = ["-m", "torch.distributed.run", *command[1:], *arguments]
        try:
            return seen(Path(folder), stream(arguments, 600, stuck))
        except LaunchError as error:
            if error.signal:
                raise
            return seen(Path(folder), [], str(error))


def seen(folder: Path, lines: list[str], error: str = "") -> Seen:
    """Return what a run was seen to do: what it printed, and what is in its folder."""
    notes = {int(path.name): list(map(json.loads, path.read_text().splitlines())) for path in folder.glob("[0-9]*")}
    return Seen(lines, load(folder), error, notes)
