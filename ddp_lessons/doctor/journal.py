"""What each rank writes down while a script runs, a line of JSON an event, and how that is read again.

Every rank has a file of its own in one folder: ranks that wrote to each other would wait for each other, and so
change what is watched. Events (`what`) are described where they are noted, in `watch/`.
"""

import contextlib
import functools
import json
import os
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

LIBRARIES = {sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
DOCTOR = str(Path(__file__).parent) + os.sep


@functools.cache
def is_readers(file: str) -> bool:
    """Tell the reader's own code from Python's, the libraries', and the doctor's."""
    if file.startswith("<") or "site-packages" in file or "dist-packages" in file:
        return False
    return not file.startswith((DOCTOR, *LIBRARIES))


def here() -> list | None:
    """Return the reader's innermost line that is now running, as [file, line]; None if there is none."""
    frame = sys._getframe(1)
    while frame and not is_readers(frame.f_code.co_filename):
        frame = frame.f_back
    return [os.path.abspath(frame.f_code.co_filename), frame.f_lineno] if frame else None


class Journal:
    """A rank's file of events. Forked processes, such as a loader's workers, write into it too, with their `pid`."""

    def __init__(self, folder: Path, rank: int):
        self.folder, self.rank, self.pid = folder, rank, os.getpid()
        self.file = os.open(folder / f"{rank}.jsonl", os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    def note(self, what: str, **more: object) -> None:
        """Write down an event, with the time, in seconds, and the reader's line that it happened at."""
        event = {"what": what, "at": round(time.monotonic(), 4), "place": here(), **more}
        if os.getpid() != self.pid:
            event["pid"] = os.getpid()
        with contextlib.suppress(OSError):  # a full disk is for the script to meet
            os.write(self.file, (json.dumps(event, default=str) + "\n").encode())

    def safely(self, function: Callable) -> Callable:
        """Have a function never fail: a fault of the doctor's own must not become one of the script."""

        @functools.wraps(function)
        def careful(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001
                self.note("failed", instrument=function.__qualname__, error=f"{type(error).__name__}: {error}")

        return careful


@dataclass
class Run:
    """All that was noted of a run: for each rank its events, in order.

    `hang` says how it hung, if it did.
    """

    ranks: dict[int, list[dict]]
    script: str = ""
    hang: str = ""
    found: list = field(default_factory=list)  # findings so far: a judge may keep quiet about a consequence

    def of(self, *whats: str) -> dict[int, list[dict]]:
        """Return the events of some kinds, for each rank."""
        return {rank: [event for event in events if event["what"] in whats] for rank, events in self.ranks.items()}

    def all(self, *whats: str) -> Iterator[tuple[int, dict]]:
        """Yield (rank, event) for the events of some kinds, rank after rank."""
        for rank, events in self.of(*whats).items():
            for event in events:
                yield rank, event

    @property
    def steps(self) -> int:
        """The optimizer steps of the rank that took most."""
        return max((len(events) for events in self.of("step").values()), default=0)


def read(folder: Path, size: int, **more: object) -> Run:
    """Return what `size` ranks have written in a folder; a line that is not whole is left out."""
    return Run({rank: events_of(folder / f"{rank}.jsonl") for rank in range(size)}, **more)


def events_of(path: Path) -> list[dict]:
    """Return the events in a rank's file."""
    lines = path.read_text(errors="replace").split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def last_event(path: Path) -> dict:
    """Return the last event in a rank's file, without reading all of it; {} if there is none yet."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - (1 << 16)))
            *_, line, _ = (b"\n" + file.read()).split(b"\n")
            return json.loads(line) if line else {}
    except (OSError, ValueError):
        return {}
