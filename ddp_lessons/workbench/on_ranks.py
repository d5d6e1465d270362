"""A function on real ranks, called from a notebook: what it returns on each of them comes back.

The function may be the reader's own, defined in a cell: its source goes to the ranks, with all that it uses.
"""

import atexit
import json
import math
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field

from ddp_lessons.running.processes import held_back
from ddp_lessons.workbench.call import RESULT, cells_of
from ddp_lessons.workbench.ranks_in_cells import START, Cell, World
from ddp_lessons.workbench.ranks_magic import MOST, RanksFailed
from ddp_lessons.workbench.ranks_screen import Screen, clause, named, who_waits
from ddp_lessons.workbench.scripts import Refused
from ddp_lessons.workbench.source import notebook_names

LIBRARY = re.compile(r"File |Cell In\[0\]")  # how a frame of a traceback begins that is not the reader's


def on_ranks(ranks: int, function: Callable, *arguments: object, timeout: float = 60) -> list:
    """Return what `function(*arguments)` returns on each of `ranks` ranks, in the order of ranks.

    Each is a process of its own, on one core, in a gloo group of all. The function, and arguments that are functions,
    are importable or defined in this notebook's cells; other arguments, and what is returned, are what JSON can hold
    (tensors come back as lists). Raises RanksFailed when a rank fails, or is not back in `timeout` seconds.
    """
    if not (isinstance(ranks, int) and 1 <= ranks <= MOST):
        raise Refused(f"{ranks!r:.60} ranks cannot be started: give a whole number from 1 to {MOST}")
    if not callable(function):
        raise Refused(f"{function!r:.60} is no function: give its name alone, and its arguments after it")
    if not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise Refused(f"timeout={timeout!r:.60}: give a number of seconds above 0")
    outcome = call_on_ranks(ranks, function, arguments, timeout)
    if outcome.sentence:
        raise RanksFailed(outcome.sentence)
    return [outcome.results[rank] for rank in range(ranks)]


@dataclass
class Outcome:
    """What came of a call: what each rank returned or raised, and where each was that did not come back."""

    screen: Screen
    results: dict[int, object] = field(default_factory=dict)
    errors: dict[int, dict] = field(default_factory=dict)
    late: dict[int, str] = field(default_factory=dict)
    sentence: str = ""  # what hindered it, "" if nothing
    last_words: str = ""  # what ranks that have ended wrote to their stderr
    tried: bool = True  # no: it was not the function that hindered it

    def hear(self, rank: int | None, kind: str, content: dict) -> None:
        """Take a message of a rank, or a tick of the clock."""
        if kind == "error":
            self.errors[rank] = content
        elif RESULT in content.get("data", {}):
            self.results[rank] = json.loads(content["data"][RESULT])
        else:
            self.screen.hear(rank, kind, content)

    def failure(self) -> str:
        """Print the traceback of the rank that failed first, without our frames and libraries'; return a sentence."""
        said = {rank: f"{error['ename']}: {error['evalue']}" for rank, error in self.errors.items()}
        first = min(said, key=lambda rank: "by peer" in said[rank])  # a connection lost: of another rank's failure
        frames = [f for f in self.errors[first]["traceback"] if not LIBRARY.match(plain(f))]
        self.screen.hear(first, "stream", {"name": "stdout", "text": "\n".join(frames) + "\n"})
        return f"{named(sorted(rank for rank in said if said[rank] == said[first]))} failed: {said[first]}"


class Workers:
    """Ranks that live on from call to call: those of a call are the first of them."""

    def __init__(self):
        self.world: World | None = None
        atexit.register(self.end)

    def ready(self, ranks: int, pressed: list) -> World:
        """Return at least so many ranks, started anew if there are fewer or one is lost."""
        if not (self.world and self.world.fit and len(self.world.ranks) >= ranks):
            self.end()
            world = World()
            world.start(ranks, pressed)
            self.world = world
        return self.world

    def end(self) -> None:
        """End the ranks, if there are any."""
        if self.world:
            self.world.end()
            self.world = None


WORKERS = Workers()


def call_on_ranks(ranks: int, function: Callable, arguments: tuple, timeout: float, spare: int = 0) -> Outcome:
    """Call a function on ranks, as `on_ranks` does; return what came of it, whatever that is.

    `spare` ranks are kept besides, if a later call needs more. Raises Refused where the call cannot be sent at all.
    """
    outcome = Outcome(Screen(ranks))
    with held_back() as pressed, tempfile.TemporaryDirectory() as folder:
        cells = cells_of(function, arguments, ranks, f"{folder}/meeting")
        try:
            world = WORKERS.ready(ranks + spare, pressed)
            for place, (code, number) in enumerate(cells):
                if not (outcome.late or outcome.errors or pressed):
                    cell = Cell(code, list(range(ranks)), timeout if place else START, number)
                    outcome.late = world.run(cell, outcome.hear, pressed)
        except KeyboardInterrupt:
            return Outcome(outcome.screen, sentence="interrupted while the ranks started", tried=False)
        except (RuntimeError, OSError) as error:
            return Outcome(outcome.screen, sentence=f"no ranks: {error}", tried=False)
        outcome.tried = not pressed
        outcome.sentence = "interrupted" if pressed else what_hindered(outcome, world, cell)
        outcome.screen.close()
        if not world.fit:
            WORKERS.end()
    return outcome


def what_hindered(outcome: Outcome, world: World, cell: Cell) -> str:
    """Return a sentence about a call that has ended, "" if nothing hindered it."""
    if gone := world.which("gone"):
        outcome.last_words = "\n".join(world.ranks[rank].answer() for rank in gone)
        return clause(gone, "has ended")
    if outcome.errors:
        return outcome.failure()
    # the last cell is ours: a rank there, and not in the reader's code, waits for the others
    outcome.late = {rank: re.sub(r".*\bcell line \d+$", "has returned", at) for rank, at in outcome.late.items()}
    outcome.late = {rank: waiting(at) for rank, at in outcome.late.items()}
    where = re.sub("; [^;]* left out", "", who_waits(world, cell, outcome.late))
    return f"after {cell.timeout:g} s, {where}" if outcome.late else ""


def waiting(place: str) -> str:
    """Return where a rank is, but "waits in wait" if that line waits for a handle: no Python frame tells that."""
    cells = notebook_names().get("In", [])
    if at := re.fullmatch(r"is at (cell (\d+) line (\d+))", place):
        lines = cells[int(at[2])].splitlines()[: int(at[3])] if int(at[2]) < len(cells) else []
        if lines and ".wait(" in lines[-1]:
            return f"waits in wait, {at[1]}"
    return place


def plain(text: str) -> str:
    """Return text without the escapes that colour it."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
