"""A function on real ranks, called from a notebook: what it returns on each of them comes back.

The function may be the reader's own, defined in a cell: its source goes to the ranks, with all that it uses.
"""

import atexit
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import torch.distributed as dist
from IPython.display import publish_display_data

import ddp_lessons
from ddp_lessons.workbench.compose import Page, Script, import_lines
from ddp_lessons.workbench.processes import held_back
from ddp_lessons.workbench.ranks_in_cells import Cell, World
from ddp_lessons.workbench.ranks_magic import RanksFailed
from ddp_lessons.workbench.ranks_screen import Screen, clause, named, who_waits
from ddp_lessons.workbench.scripts import Refused
from ddp_lessons.workbench.source import in_notebook, notebook_names, text_around

LOOPBACK = "127.0.0.1"
RESULT = "application/x-ddp-lessons-result"
OURS = re.compile(r"In\[0\]|ddp_lessons/workbench")  # in a frame of a traceback that is not the reader's


def on_ranks(ranks: int, function: Callable, *arguments: object, timeout: float = 60) -> list:
    """Return what `function(*arguments)` returns on each of `ranks` ranks, in the order of ranks.

    Each is a process of its own, on one core, in a gloo group of all. The function, and arguments that are functions,
    are importable or defined in this notebook's cells; other arguments, and what is returned, are what JSON can hold
    (tensors come back as lists). Raises RanksFailed when a rank fails, or is not back in `timeout` seconds.
    """
    outcome = call_on_ranks(ranks, function, arguments, timeout)
    if outcome.sentence:
        raise RanksFailed(outcome.sentence)
    return [outcome.results[rank] for rank in range(ranks)]


@dataclass
class Outcome:
    """What came of a call: what each rank returned, where each was that did not come back, and who failed first."""

    screen: Screen
    results: dict[int, object] = field(default_factory=dict)
    late: dict[int, str] = field(default_factory=dict)
    failed: int | None = None
    sentence: str = ""  # what went wrong, "" if nothing

    def hear(self, rank: int | None, kind: str, content: dict) -> None:
        """Take a message of a rank, or a tick of the clock."""
        if kind == "error" and self.failed is None:  # what others say then is a consequence
            self.failed = rank
            frames = [frame for frame in content["traceback"] if not OURS.search(plain(frame))]
            self.screen.hear(rank, "stream", {"name": "stdout", "text": "\n".join(frames) + "\n"})
            self.sentence = f"{named([rank])} failed: {content['ename']}: {content['evalue']}"
        elif RESULT in content.get("data", {}):
            self.results[rank] = json.loads(content["data"][RESULT])
        elif kind != "error":
            self.screen.hear(rank, kind, content)


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
    store = dist.TCPStore(LOOPBACK, 0, is_master=True, wait_for_workers=False)
    cells = cells_of(function, arguments, ranks, store.port)
    outcome = Outcome(Screen(ranks))
    with held_back() as pressed:
        try:
            world = WORKERS.ready(ranks + spare, pressed)
            for code, number in cells:
                if not (outcome.late or outcome.sentence or pressed):
                    cell = Cell(code, list(range(ranks)), timeout, number)
                    outcome.late = world.run(cell, outcome.hear, pressed)
        except KeyboardInterrupt:
            return Outcome(outcome.screen, sentence="interrupted while the ranks started")
        except (RuntimeError, OSError) as error:
            return Outcome(outcome.screen, sentence=f"no ranks: {error}")
        outcome.screen.close()
        if outcome.failed is None:
            outcome.sentence = what_hindered(outcome, world, cell, bool(pressed))
        if not world.fit:
            WORKERS.end()
    return outcome


def what_hindered(outcome: Outcome, world: World, cell: Cell, stopped: bool) -> str:
    """Return a sentence about a call that no rank has failed in, "" if nothing hindered it."""
    if stopped:
        return "interrupted"
    if gone := world.which("gone"):
        return clause(gone, "has ended")
    # the last cell is ours: a rank there, and not in the reader's code, waits for the others
    outcome.late = {rank: re.sub(r".*\bcell line \d+$", "has returned", at) for rank, at in outcome.late.items()}
    where = re.sub("; [^;]* left out", "", who_waits(world, cell, outcome.late))
    return f"after {cell.timeout:g} s, {where}" if outcome.late else ""


def cells_of(function: Callable, arguments: tuple, ranks: int, port: int) -> list[tuple[str, int]]:
    """Return the cells that ranks run for a call, and the number that each has in the notebook, 0 if it is in none."""
    script, cells = Script(notebook_names()), []
    theirs = [thing for thing in (function, *arguments) if in_notebook(thing)]
    for thing in theirs:
        try:
            script.add(thing.__name__, Page.read(text_around(thing)), ddp_lessons, thing)
        except ValueError as error:
            raise Refused(f"{error}: the ranks cannot run {thing.__name__}") from None
    for thing in theirs:  # last, and where they stand in their cells, so that lines count as there
        text, part = text_around(thing), script.parts.pop(thing.__name__)
        cells.append(("\n" * text.partition(part)[0].count("\n") + part, number_of(text)))
    first = ["get_ipython().reset(new_session=False)", import_lines(script.imports), *script.parts.values()]
    names = ", ".join(map(expression, arguments))
    last = [f"from {thing.__module__} import {thing.__name__}" for thing in (function, answer) if thing not in theirs]
    last += ["import json", f"answer({function.__name__}, [{names}], {ranks}, {port})"]
    return [("\n".join(first), 0), *cells, ("\n".join(last), 0)]


def expression(argument: object) -> str:
    """Return Python that gives an argument: the name of a function of the reader's, or what JSON can hold."""
    return argument.__name__ if in_notebook(argument) else f"json.loads({json.dumps(argument)!r})"


def number_of(text: str) -> int:
    """Return the number of the cell with this text, 0 if there is none."""
    cells = [cell.strip() for cell in notebook_names().get("In", [])]
    return len(cells) - 1 - cells[::-1].index(text.strip()) if text.strip() in cells else 0


def answer(function: Callable, arguments: list, ranks: int, port: int) -> None:
    """Call a function on this rank, in a group of the first `ranks`, and send the notebook what it returns."""
    rank = int(os.environ["RANK"])
    os.environ.update({"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)})
    store = dist.TCPStore(LOOPBACK, port, is_master=False, timeout=timedelta(seconds=30))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    try:
        result = json.dumps(function(*arguments), default=as_json)
        dist.barrier()  # a rank that leaves at once would break the others' last message
    finally:
        dist.destroy_process_group()
    publish_display_data({RESULT: result})


def as_json(value: object) -> object:
    """Return something else than JSON knows in a way that it knows: tensors as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, range | set) else repr(value)


def plain(text: str) -> str:
    """Return text without the escapes that colour it."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
