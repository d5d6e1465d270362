"""The cell magic `%%ranks 2`: what a notebook types, and what it shows, of ranks that run a cell."""

import atexit
import re
import sys
import time

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import publish_display_data

from ddp_lessons.workbench.ranks_in_cells import GRACE, World

MOST = 16  # ranks
SETTLE = 1  # seconds from the first failure to its traceback: who fails of the same cause is shown with it


class RanksFailed(Exception):
    """A cell did not succeed on all ranks. Shown as one sentence: the ranks' own tracebacks are above it."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def named(ranks: list[int]) -> str:
    """Return ranks in words: "rank 1", "ranks 0 and 1", "ranks 0, 1 and 3"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def what_went_wrong(world: World, late: list[int], stopped: bool, timeout: float) -> str:
    """Return a sentence about the cell that has just ended, or "" if it succeeded on all ranks."""
    causes = ["interrupted"] if stopped else []
    if gone := world.which("gone"):
        causes += [f"{named(gone)} {'has' if len(gone) == 1 else 'have'} ended"]
    if failed := world.which("failed"):
        causes += [f"{named(failed)} failed"]
    if late:
        when = f"{GRACE} s later" if causes else f"after {timeout:g} s"
        causes += [f"{named(late)} had not finished {when}"]
    cause = " and ".join(causes)
    lives = "the ranks live on, with their variables"
    ended = "all ranks were ended, and the next %%ranks starts fresh ones, without variables"
    return cause and f"{cause[0].upper()}{cause[1:]}: {lives if world.fit else ended}."


class Page:
    """What one rank prints and shows: its first line after its label, the others indented under it."""

    def __init__(self, label: str):
        self.label = label
        self.last = {"stdout": "", "stderr": ""}  # the last character written, "" before a label

    def hear(self, kind: str, content: dict) -> None:
        """Print or show what a message brings."""
        if kind == "stream":
            self.write(content["text"], content["name"])
        elif list(content.get("data", {})) == ["text/plain"]:
            self.write(content["data"]["text/plain"] + "\n")
        elif "data" in content:
            self.show(kind, content)

    def write(self, text: str, stream: str = "stdout") -> None:
        """Print text, on stdout or stderr."""
        margin = "\n" + " " * len(self.label)
        lead = {"": self.label, "\n": margin[1:] * (not text.startswith("\n"))}.get(self.last[stream], "")
        print(lead + re.sub(r"\n(?=[^\n])", margin, text), end="", file=getattr(sys, stream))
        self.last[stream] = text[-1:] or self.last[stream]

    def show(self, kind: str, content: dict) -> None:
        """Display a picture, a table, or whatever else is more than text."""
        self.close()
        if self.label:
            print(self.label.rstrip())
        more = {"transient": content.get("transient"), "update": kind == "update_display_data"}
        publish_display_data(content["data"], content["metadata"], **more)

    def close(self) -> None:
        """End the last line. What comes next has a label again."""
        for stream, last in self.last.items():
            if last not in ("", "\n"):
                print(file=getattr(sys, stream))
            self.last[stream] = ""


class Screen:
    """What all ranks print and show in one cell: rank 0's live, the others' after it, in rank order."""

    def __init__(self, world_size: int):
        width = len(str(world_size - 1))
        labels = [f"rank {rank:{width}}: " if world_size > 1 else "" for rank in range(world_size)]
        self.pages = [Page(label) for label in labels]
        self.waiting: list[list[tuple[str, dict]]] = [[] for _ in labels]
        self.failures: dict[int, str] = {}  # tracebacks not shown yet
        self.failed_at = 0.0

    def hear(self, rank: int | None, kind: str, content: dict) -> None:
        """Take a message of a rank, or a tick of the clock."""
        if kind == "error":
            self.failed_at = self.failed_at if self.failures else time.monotonic()
            self.failures[rank] = "\n".join(content["traceback"])
        elif kind == "tick" and self.failures and time.monotonic() > self.failed_at + SETTLE:
            self.show_failures()
        elif rank == 0:
            self.pages[0].hear(kind, content)
        elif rank:
            self.waiting[rank].append((kind, content))

    def show_failures(self) -> None:
        """Print the tracebacks that have come, equal ones once, after what those ranks printed."""
        self.pages[0].close()
        failures, self.failures = dict(sorted(self.failures.items())), {}
        for rank in failures:
            self.turn(rank)
        for text in dict.fromkeys(failures.values()):
            ranks = [rank for rank in failures if failures[rank] == text]
            print(f"{named(ranks)} failed:\n{text}")

    def turn(self, rank: int) -> None:
        """Show what a rank has to show until now."""
        waiting, self.waiting[rank] = self.waiting[rank], []
        for kind, content in waiting:
            self.pages[rank].hear(kind, content)
        self.pages[rank].close()

    def close(self) -> None:
        """Show all that is left."""
        if self.failures:
            self.show_failures()
        for rank in range(len(self.pages)):
            self.turn(rank)


@magics_class
class RanksMagics(Magics):
    """`%%ranks`, and the ranks that it keeps from cell to cell."""

    def __init__(self, shell: InteractiveShell):
        super().__init__(shell)
        self.world: World | None = None
        atexit.register(self.stop)

    @magic_arguments()
    @argument("ranks", nargs="?", help=f"how many, 1 to {MOST} (as many as there are, or 2)")
    @argument("--timeout", default="60", help="seconds until a cell that goes on is broken off (60)")
    @cell_magic
    def ranks(self, line: str, cell: str) -> None:
        """Run the cell on ranks, each a process of its own that keeps its variables for the next one.

        They have the environment that torchrun would set. Another number of ranks starts fresh ones.
        """
        world_size, timeout = self._read(line)
        world = self._world_of(world_size)
        screen = Screen(world_size)
        # a first line in place of the magic's, so that tracebacks count lines as the notebook does
        code = cell if cell.lstrip().startswith("%%") else f"# %%ranks {line}\n{cell}"
        number = len(self.shell.history_manager.input_hist_parsed) - 1
        late, stopped = [], False
        try:
            late = world.run(code, timeout, screen.hear, number)
        except KeyboardInterrupt:
            stopped = True
        screen.close()
        sentence = what_went_wrong(world, late, stopped, timeout)
        if not world.fit:
            self.stop()
        if sentence:
            raise RanksFailed(sentence)

    def _read(self, line: str) -> tuple[int, float]:
        given = parse_argstring(self.ranks, line)
        ranks = given.ranks or str(len(self.world.ranks) if self.world else 2)
        if not (ranks.isdecimal() and 1 <= int(ranks) <= MOST):
            raise UsageError(f"%%ranks {ranks}: the number of ranks is a whole number from 1 to {MOST}")
        if not re.fullmatch(r"[0-9]*\.?[0-9]+", given.timeout) or float(given.timeout) == 0:
            raise UsageError(f"--timeout {given.timeout}: the time-out is a number of seconds above 0")
        return int(ranks), float(given.timeout)

    def _world_of(self, world_size: int) -> World:
        if self.world and self.world.which("gone"):
            print(f"{named(self.world.which('gone'))} had ended: fresh ranks, without variables")
        if not (self.world and self.world.fit and len(self.world.ranks) == world_size):
            self.stop()
            try:
                self.world = World(world_size)
            except RuntimeError as error:
                raise RanksFailed(f"No ranks: {error}.") from None
            except KeyboardInterrupt:
                raise RanksFailed("Interrupted while the ranks started: none is left.") from None
        return self.world

    def stop(self) -> None:
        """End the ranks, if there are any."""
        if self.world:
            self.world.end()
            self.world = None
