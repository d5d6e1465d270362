"""A run whose checkpoints, lines and processes are seen as they come and go, so that it can be hit at a moment."""

import contextlib
import os
import signal as signals
import time
from collections.abc import Callable

import psutil

from ddp_lessons.blocks.checkpoint import checkpoints
from ddp_lessons.running.processes import children, environment, exit_code, is_alive
from ddp_lessons.running.program import TICK, Program
from ddp_lessons.workbench.launch import LaunchError
from ddp_lessons.workbench.scripts import ROOT

TIGHT = 0.0002  # seconds between two looks: a checkpoint's temporary file is there for some thousandths


class Watched(Program):
    """A run of a script, with what there is of it: `printed` lines, `there` and `written` checkpoints, `named` ranks.

    After `ended`: `seconds` from the last signal to the end, and exit `codes`, None where nobody saw one.
    """

    def __init__(self, arguments: list[str], folder: str, ranks: int | None, stops: list[int]):
        self.folder, self.ranks, self.stops = str(ROOT / folder), ranks or 0, stops
        self.there = self.before = checkpoints(self.folder)  # now, and at the start
        self.written, self.printed, self.text = set(), [], b""
        self.tell = lambda line: None  # who else is to hear each line
        self.struck = self.seconds = self.searched = 0.0
        super().__init__(arguments, ROOT)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.named = {"launcher" if ranks else "rank 0": psutil.Process(self.process.pid)}
        self.codes: dict[str, int | None] = {}

    def _environment(self, threads: int) -> dict[str, str]:
        return super()._environment(threads) | {"PET_SHUTDOWN_TIMEOUT": "30"}  # torchrun's own, as in a terminal

    def look(self) -> None:
        """See what there is now. Raises LaunchError if the stop button was pressed."""
        self.raise_if_stopped()
        self.there = checkpoints(self.folder)  # before the lines: what they tell of was there then
        self.written.update(set(self.there).difference(self.before))
        with contextlib.suppress(BlockingIOError):
            *lines, self.text = (self.text + os.read(self.process.stdout.fileno(), 1 << 16)).split(b"\n")
            for line in lines:
                self.printed.append(line.decode(errors="replace"))
                self.tell(self.printed[-1])
        if len(self.named) <= self.ranks and time.monotonic() > self.searched + TICK:
            self.searched = time.monotonic()
            ranks = {environment(child).get("RANK"): child for child in children(self.process.pid)}
            self.named |= {f"rank {rank}": ranks[rank] for rank in sorted(filter(None, ranks))}

    def raise_if_stopped(self) -> None:
        """Raise LaunchError if the stop button, or Ctrl-C, was pressed."""
        if self.stops:
            raise LaunchError("interrupted; all its processes were ended")

    def until(self, reached: Callable[["Watched"], bool], timeout: float = 60) -> bool:
        """Wait until all ranks are there and `reached(self)`; return False if the run ends before."""
        deadline = time.monotonic() + timeout
        while self.process.poll() is None:
            self.look()
            if len(self.named) > self.ranks and reached(self):
                return True
            if time.monotonic() > deadline:
                raise LaunchError(f"the moment did not come within {timeout:g} s; all its processes were ended")
            time.sleep(TIGHT)
        self.look()
        return False

    def strike(self, victim: str, number: int = signals.SIGKILL) -> bool:
        """Send a signal to "launcher", "rank 0" …, or "all"; return False if one of them had ended before."""
        victims = list(self.named.values()) if victim == "all" else [self.named[victim]]
        there = [process for process in victims if is_alive(process)]
        self.struck = time.monotonic()
        for process in there:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        return there == victims

    def ended(self, timeout: float = 60) -> list[str]:
        """Wait for the end of every process of this run; return the names of those that live on nevertheless."""
        deadline = time.monotonic() + timeout
        while (alive := self.alive()) and time.monotonic() < deadline:
            self.look()
            time.sleep(TIGHT if alive[0] in self.named else TICK)
        self.seconds = time.monotonic() - self.struck
        self.look()
        return alive

    def alive(self) -> list[str]:
        """Return the names of its living processes, and note the exit codes of those that have just ended."""
        launcher, *ranks = self.named  # the launcher is our child: it has ended once we have its exit code
        self.codes[launcher] = self.process.poll()
        named = [launcher] * (self.codes[launcher] is None) + [name for name in ranks if is_alive(self.named[name])]
        for name in ranks:
            if self.codes.get(name) is None:
                self.codes[name] = exit_code(self.named[name].pid)
        return named or [f"process {process.pid}" for process in self.processes() if is_alive(process)]
