"""Ranks that live from cell to cell.

The notebook's kernel sends every one the same cell, and hears over Jupyter's messages what they print.
A rank stuck in a collective says where, and can be ended without losing the notebook.
"""

import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import zmq

from ddp_lessons.running.processes import children, kill
from ddp_lessons.running.torchrun import torchrun_environment
from ddp_lessons.workbench.fork_server import fork_servers
from ddp_lessons.workbench.mnist import unpack_mnist
from ddp_lessons.workbench.one_rank import Rank

START = 120  # seconds for all ranks to start; where they import torch anew, sixteen on two cores need 30
GRACE = 3  # seconds for the others to finish once one rank has failed
PATIENCE = 2  # seconds for an interrupted rank to come back
FAREWELL = 1  # second for a rank that is told to end, and for what it has started
ANSWER = 1  # seconds for a stuck rank to say where it is
TICK = 0.1  # seconds between two looks at the clock while nothing arrives

FIRST_CELL = "import torch\nimport torch.distributed as dist\n"
FIRST_CELL += "__import__('faulthandler').register(__import__('signal').SIGUSR1, file=2)"  # for Rank.ask_where


class Cell(NamedTuple):
    """A cell for ranks to run."""

    code: str
    ranks: list[int]  # those that run it
    timeout: float  # seconds
    number: int = 0  # in the notebook


class World:
    """Ranks that live from cell to cell; none until `start`.

    `pressed`, in what follows, is a list that stays empty until the reader presses the stop button.
    """

    def __init__(self):
        self.ranks: list[Rank] = []
        self.port = free_port()

    def start(self, world_size: int, pressed: Sequence) -> None:
        """Start ranks. Raises RuntimeError if one does not, KeyboardInterrupt once `pressed`; none is left then."""
        try:
            self._start(world_size, time.monotonic() + START, pressed)
            self._first_cell(pressed)
        except BaseException:
            self.end()
            raise

    def _start(self, world_size: int, deadline: float, pressed: Sequence) -> None:
        self.servers = fork_servers()
        unpack_mnist()  # or in a fresh clone all ranks would, at once, into the same files
        for server in self.servers:
            server.wait(deadline, pressed)
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(world_size):
                environment = torchrun_environment(rank, world_size, self.port.getsockname()[1])
                server = self.servers[rank % len(self.servers)]
                self.ranks.append(Rank(rank, server, environment, Path(folder)))
            for rank in self.ranks:
                rank.connect(deadline, pressed)
        if sys.platform != "linux":  # there, rank 0 could not take a port that we hold
            self.port.close()

    def _first_cell(self, pressed: Sequence) -> None:
        errors = []
        cell = Cell(FIRST_CELL, list(range(len(self.ranks))), START)
        late = self.run(cell, lambda _, kind, content: errors.append(content) if kind == "error" else None, pressed)
        if pressed:
            raise KeyboardInterrupt
        reasons = [f"{error['ename']}: {error['evalue']}" for error in errors]
        reasons += [self.ranks[rank].last_words() for rank in self.which("gone")]
        if late or reasons:
            raise RuntimeError(f"the ranks did not start: {(reasons or ['it took too long'])[0]}")

    @property
    def fit(self) -> bool:
        """Whether the next cell can run: every rank is alive and none is still in the last one."""
        return bool(self.ranks) and not self.which("busy") and not self.which("gone")

    def which(self, state: str) -> list[int]:
        """Return the ranks that are "busy" in a cell, "failed" with an exception, or "gone": ended."""
        return [rank.rank for rank in self.ranks if getattr(rank, state)]

    def run(self, cell: Cell, hear: Callable, pressed: Sequence) -> dict[int, str]:
        """Run a cell; return the ranks that were late, so interrupted, and where each was.

        Late is `cell.timeout` seconds, GRACE after another rank has failed, or once `pressed`.
        `hear(rank, kind, content)` is called with each message, and as `hear(None, "tick", {})` meanwhile.
        """
        for rank in self.ranks:
            rank.failed = rank.interrupted = False
        for rank in cell.ranks:
            self.ranks[rank].send(cell.code, cell.number)
        self._listen(cell.timeout, hear, pressed)
        late = self._where(self.which("busy"))
        if not self.which("gone"):  # or all are ended anyway
            for rank in late:
                self.ranks[rank].interrupt()
            self._listen(PATIENCE, hear)
        return late

    def _listen(self, timeout: float, hear: Callable, pressed: Sequence = ()) -> None:
        poller = zmq.Poller()
        for rank in self.ranks:
            poller.register(rank.client.iopub_channel.socket, zmq.POLLIN)
        deadline = broken_off = time.monotonic() + timeout
        while self.which("busy") and time.monotonic() < min(deadline, broken_off) and not pressed:
            poller.poll(TICK * 1000)
            for rank in self.ranks:
                for kind, content in rank.receive():
                    hear(rank.rank, kind, content)
            hear(None, "tick", {})
            if broken_off == deadline and (self.which("failed") or self.which("gone")):
                broken_off = time.monotonic() + GRACE

    def _where(self, late: list[int]) -> dict[int, str]:
        for rank in late:
            self.ranks[rank].ask_where()
        deadline = time.monotonic() + ANSWER
        before, answers = None, [""] * len(late)
        while late and (answers != before or "" in answers) and time.monotonic() < deadline:
            time.sleep(TICK)
            before, answers = answers, [self.ranks[rank].answer() for rank in late]
        return {rank: self.ranks[rank].where() for rank in late}

    def end(self) -> None:
        """End all ranks, stuck or not, and all that they have started."""
        started = [child for rank in self.ranks for child in children(rank.process.pid)]  # in any session
        for rank in self.ranks:
            rank.signal(signal.SIGTERM)
        deadline = time.monotonic() + FAREWELL
        while self.ranks:
            self.ranks[-1].end(deadline)
            self.ranks.pop()
        kill(started)
        self.port.close()


def free_port() -> socket.socket:
    """Hold a port for as long as the ranks live: Linux gives it to nobody, but rank 0, who asks for it by number."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("", 0))
    return held
