"""The magics `%%ranks 2`, for a cell that ranks run, and `%ranks status`, `%ranks stop`: what a notebook types."""

import asyncio
import atexit
import contextlib
import re
import textwrap

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from ddp_lessons.running.processes import held_back
from ddp_lessons.workbench.fork_server import fork_servers
from ddp_lessons.workbench.ranks_in_cells import Cell, World
from ddp_lessons.workbench.ranks_screen import Screen, named, what_went_wrong
from ddp_lessons.workbench.scripts import PAGE, Refused

MOST = 16  # ranks


class RanksFailed(Refused):
    """A cell did not succeed on all ranks; their own tracebacks are above it."""

    def _render_traceback_(self) -> list[str]:
        return textwrap.wrap(str(self), PAGE)


@magics_class
class RanksMagics(Magics):
    """`%%ranks`, `%ranks`, and the ranks that live from cell to cell."""

    def __init__(self, shell: InteractiveShell):
        super().__init__(shell)
        self.world: World | None = None
        self.world_size = 2
        self.lost: list[int] = []  # ranks that have ended by themselves, since the last cell
        atexit.register(self.stop)
        fork_servers()  # they may have imported torch by the time that ranks are asked for

    @line_magic("ranks")
    def ask(self, line: str) -> None:
        """`%ranks status` says of each rank whether it is alive; `%ranks stop` ends them all."""
        if line.split() not in (["status"], ["stop"]):
            raise UsageError(f"%ranks {line}: there are %ranks status, %ranks stop, and %%ranks 2 above a cell")
        with held_back():
            self._look()
            if line.strip() == "stop":
                self.stop()
            for rank in self.world.ranks if self.world else []:
                print(f"rank {rank.rank}: process {rank.process.pid}, alive, {'busy' if rank.busy else 'idle'}")
        if line.strip() == "status" and not self.world:
            print("no ranks" + (f": {named(self.lost)} had ended" if self.lost else ""))

    @magic_arguments()
    @argument("ranks", nargs="?", help=f"how many, 1 to {MOST} (as many as last time, first 2)")
    @argument("--timeout", default="60", help="seconds until a cell that goes on is broken off (60)")
    @argument("--only", help="the ranks that run the cell, such as 0,2 (all)")
    @cell_magic
    def ranks(self, line: str, cell: str) -> None:
        """Run the cell on ranks, each a process of its own that keeps its variables for the next one.

        They have the environment that torchrun would set. Another number of ranks starts fresh ones.
        """
        world_size, timeout, only = self._read(line)
        # a first line in place of the magic's, so that tracebacks count lines as the notebook does
        code = cell if cell.lstrip().startswith("%%") else f"# %%ranks {line}\n{cell}"
        number = len(self.shell.history_manager.input_hist_parsed) - 1
        with held_back() as pressed:
            sentence = self._run(world_size, Cell(code, only, timeout, number), pressed)
        if sentence:
            raise RanksFailed(sentence)

    def _run(self, world_size: int, cell: Cell, pressed: list) -> str:
        screen = Screen(world_size, live=cell.ranks[0])
        try:
            world = self._world_of(world_size, pressed)
        except (RuntimeError, OSError) as error:
            return f"No ranks: {error}."
        except KeyboardInterrupt:
            return "Interrupted while the ranks started: none is left."
        late = world.run(cell, screen.hear, pressed)
        screen.close()
        sentence = what_went_wrong(world, cell, late, stopped=bool(pressed))
        if not world.fit:
            self.stop()
        return sentence

    def _read(self, line: str) -> tuple[int, float, list[int]]:
        try:
            given = parse_argstring(self.ranks, line)
        except ValueError as error:  # a quotation mark without its partner
            raise UsageError(f"%%ranks {line}: {error}") from None
        ranks = given.ranks or str(self.world_size)
        if not (ranks.isdecimal() and 1 <= int(ranks) <= MOST):
            raise UsageError(f"%%ranks {ranks}: the number of ranks is a whole number from 1 to {MOST}")
        if not re.fullmatch(r"[0-9]*\.?[0-9]+", given.timeout) or float(given.timeout) == 0:
            raise UsageError(f"--timeout {given.timeout}: the time-out is a number of seconds above 0")
        everyone = [str(rank) for rank in range(int(ranks))]
        only = given.only.split(",") if given.only else everyone
        if not set(only) <= set(everyone):
            raise UsageError(f"--only {given.only}: the ranks are 0 to {everyone[-1]}, with commas but no spaces")
        return int(ranks), float(given.timeout), sorted(set(map(int, only)))

    def _world_of(self, world_size: int, pressed: list) -> World:
        self._look()
        if self.lost:
            print(f"{named(self.lost)} had ended: fresh ranks, without variables")
            self.lost = []
        if not (self.world and self.world.fit and len(self.world.ranks) == world_size):
            self.stop()
            world = World()
            world.start(world_size, pressed)
            self.world, self.world_size = world, world_size
            self._watch(world)
        return self.world

    def _watch(self, world: World) -> None:
        """Look every second, while no cell runs."""
        if self.world is world:
            self._look()
            with contextlib.suppress(RuntimeError):  # outside Jupyter there is no loop
                asyncio.get_running_loop().call_later(1, self._watch, world)

    def _look(self) -> None:
        """End the ranks once one of them has ended: without it they are of no use."""
        if self.world and (gone := self.world.which("gone")):
            self.stop()
            self.lost = gone

    def stop(self) -> None:
        """End the ranks, if there are any."""
        if self.world:
            self.world.end()
            self.world = None
