"""Ranks that live from cell to cell: each is an ordinary IPython kernel in a process of its own.

The notebook's kernel sends every one the same cell, and hears over Jupyter's messages what they print.
A rank stuck in a collective can be ended without losing the notebook.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import zmq
from jupyter_client import BlockingKernelClient

START = 120  # seconds for all ranks to start: sixteen on two cores need 30
GRACE = 3  # seconds for the others to finish once one rank has failed
PATIENCE = 2  # seconds for an interrupted rank to come back, or an ended one to go
TICK = 0.1  # seconds between two looks at the clock while nothing arrives

FIRST_CELL = "import torch\nimport torch.distributed as dist"
KERNEL = ["-m", "ipykernel_launcher"]
KERNEL += ["--HistoryManager.enabled=False"]  # the reader's own IPython keeps its history to itself
KERNEL += ["--IPKernelApp.capture_fd_output=False"]  # C++ libraries' chatter comes at any moment: dropped

libc = ctypes.CDLL(None)  # looked up here: little is safe between fork and exec


def torchrun_environment(rank: int, world_size: int, port: int) -> dict[str, str]:
    """Return the variables that torchrun, on one machine, would set for this rank."""
    ours = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world_size, "LOCAL_WORLD_SIZE": world_size}
    ours |= {"GROUP_RANK": 0, "GROUP_WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    if world_size > 1 and "OMP_NUM_THREADS" not in os.environ:
        ours["OMP_NUM_THREADS"] = 1  # or the ranks' threads fight over the cores
    return {name: str(value) for name, value in ours.items()}


def end_with_parent() -> None:
    """Have Linux kill this process when the notebook's ends, however. (Elsewhere ipykernel sees to it.)"""
    if sys.platform == "linux":
        libc.prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG


class Rank:
    """One rank, as the notebook sees it: a process, and a client that talks to its kernel."""

    def __init__(self, rank: int, environment: dict[str, str], connection_file: Path):
        self.rank = rank
        self.connection_file = connection_file  # the kernel picks free ports and writes them here
        self.process = subprocess.Popen(
            [sys.executable, *KERNEL, "-f", str(connection_file)],
            env=os.environ | environment | {"JPY_PARENT_PID": str(os.getpid())},
            start_new_session=True,  # the notebook's Ctrl-C is not the rank's
            preexec_fn=end_with_parent,  # noqa: PLW1509 (takes no lock that a thread could hold)
            **dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.DEVNULL),
        )
        self.client = BlockingKernelClient()

    def connect(self, deadline: float) -> None:
        """Wait until the kernel answers. Raises RuntimeError if it has ended or the deadline has passed."""
        while not self._answers():
            if self.gone or time.monotonic() > deadline:
                raise RuntimeError(f"rank {self.rank} did not start")
            time.sleep(0.02)

    def _answers(self) -> bool:
        if not self.client.channels_running:
            try:
                self.client.load_connection_file(str(self.connection_file))
            except (OSError, ValueError):  # not there yet, or half-written
                return False
            self.client.start_channels(stdin=False, hb=False)
        self.client.kernel_info()  # asked again and again: what is published before we listen is lost
        return bool(self.client.iopub_channel.socket.poll(100))

    @property
    def gone(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def send(self, code: str, number: int) -> None:
        """Start a cell, whose number in the notebook is `number`."""
        self.busy, self.failed, self.interrupted = True, False, False
        self.client.execute(f"get_ipython().execution_count = {number}", silent=True)  # tracebacks name it
        self.request = self.client.execute(code, allow_stdin=False, stop_on_error=False)

    def receive(self) -> Iterator[tuple[str, dict]]:
        """Yield kind and content of each message about this cell that has arrived."""
        gone = self.gone  # asked first, so that all it sent before it ended is heard
        while self.client.iopub_channel.socket.poll(0):
            message = self.client.iopub_channel.get_msg()
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != self.request:
                continue  # about an earlier cell
            if kind == "status":
                self.busy = content["execution_state"] != "idle"
            elif not (self.interrupted and content.get("ename") == "KeyboardInterrupt"):
                self.failed |= kind == "error"
                yield kind, content
        self.busy = self.busy and not gone

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the cell, as the stop button does; a rank that is stuck ignores it."""
        self.interrupted = True
        self.signal(signal.SIGINT)

    def signal(self, number: int) -> None:
        """Send a signal to the rank and to all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # they have ended
            os.killpg(self.process.pid, number)

    def end(self, deadline: float) -> None:
        """Wait until the process has ended, as it was asked to; from the deadline on, kill it."""
        try:
            self.process.wait(max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait()
        self.client.stop_channels()


class World:
    """`world_size` ranks that live from cell to cell. Raises RuntimeError if one does not start."""

    def __init__(self, world_size: int):
        self.ranks: list[Rank] = []
        try:
            self._start(world_size, time.monotonic() + START)
            if self.run(FIRST_CELL, START) or self.which("failed") or self.which("gone"):
                raise RuntimeError("the ranks could not import torch")
        except BaseException:
            self.end()
            raise

    def _start(self, world_size: int, deadline: float) -> None:
        # the port is held until all are up: the kernels pick ports too
        with socket.socket() as held, tempfile.TemporaryDirectory() as folder:
            held.bind(("127.0.0.1", 0))
            for rank in range(world_size):
                environment = torchrun_environment(rank, world_size, held.getsockname()[1])
                self.ranks.append(Rank(rank, environment, Path(folder, f"{rank}.json")))
            for rank in self.ranks:
                rank.connect(deadline)

    @property
    def fit(self) -> bool:
        """Whether the next cell can run: every rank is alive and none is still in the last one."""
        return bool(self.ranks) and not self.which("busy") and not self.which("gone")

    def run(self, code: str, timeout: float, hear: Callable = lambda *_: None, number: int = 0) -> list[int]:
        """Run a cell, the notebook's `number`th, on all ranks; return those that were late, so interrupted.

        Late is `timeout` seconds, GRACE after another rank has failed, or at a KeyboardInterrupt.
        `hear(rank, kind, content)` is called with each message, and as `hear(None, "tick", {})` meanwhile.
        """
        for rank in self.ranks:
            rank.send(code, number)
        try:
            self._listen(timeout, hear)
        finally:  # after a KeyboardInterrupt too
            late = self.which("busy")
            for rank in late:
                self.ranks[rank].interrupt()
            self._listen(PATIENCE, hear)
        return late

    def which(self, state: str) -> list[int]:
        """Return the ranks that are "busy" in a cell, "failed" with an exception, or "gone": ended."""
        return [rank.rank for rank in self.ranks if getattr(rank, state)]

    def _listen(self, timeout: float, hear: Callable) -> None:
        poller = zmq.Poller()
        for rank in self.ranks:
            poller.register(rank.client.iopub_channel.socket, zmq.POLLIN)
        deadline = broken_off = time.monotonic() + timeout
        while self.which("busy") and time.monotonic() < min(deadline, broken_off):
            poller.poll(TICK * 1000)
            for rank in self.ranks:
                for kind, content in rank.receive():
                    hear(rank.rank, kind, content)
            hear(None, "tick", {})
            if broken_off == deadline and (self.which("failed") or self.which("gone")):
                broken_off = time.monotonic() + GRACE

    def end(self) -> None:
        """End all ranks, stuck or not, and all that they have started."""
        for rank in self.ranks:
            rank.signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while self.ranks:
            self.ranks[-1].end(deadline)
            self.ranks.pop()
