"""One rank that lives from cell to cell: an IPython kernel in a process of its own, and a client that talks to it."""

import contextlib
import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
from ipykernel.compiler import get_file_name
from jupyter_client import BlockingKernelClient

from ddp_lessons.running.processes import is_alive
from ddp_lessons.running.stuck import where
from ddp_lessons.workbench.fork_server import ForkServer, FreshProcesses

OPTIONS = ["--HistoryManager.enabled=False"]  # the reader's own IPython keeps its history to itself
OPTIONS += ["--IPKernelApp.capture_fd_output=False"]  # C++ libraries' chatter comes at any moment: not shown


class Rank:
    """One rank, as the notebook sees it: a process, and a client that talks to its kernel."""

    def __init__(self, rank: int, server: ForkServer | FreshProcesses, environment: dict[str, str], folder: Path):
        self.rank = rank
        self.busy = self.failed = self.interrupted = False
        self.request = None  # the id of the message that brought the cell
        self.cells: dict[str, int] = {}  # the number of each cell, by the name IPython gives to its code
        self.connection_file = folder / f"{rank}.json"  # the kernel picks free ports and writes them here
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 (without a name: however we end, it is gone as well)
        self.asked_at = 0  # where in it the answer begins to the question where the rank is
        self.process = server.start([*OPTIONS, "-f", str(self.connection_file)], environment, self.stderr)
        self.client = BlockingKernelClient()

    def connect(self, deadline: float, pressed: Sequence) -> None:
        """Wait until the kernel answers. Raises RuntimeError if it does not, and KeyboardInterrupt once `pressed`."""
        while not self._answers():
            if pressed:
                raise KeyboardInterrupt
            if self.gone:
                raise RuntimeError(f"rank {self.rank} did not start: {self.last_words()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"rank {self.rank} did not start in time")
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
        return not is_alive(self.process)

    def send(self, code: str, number: int) -> None:
        """Start a cell, whose number in the notebook is `number`."""
        self.busy, self.number = True, number
        self.cells[Path(get_file_name(code)).stem] = number
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

    def ask_where(self) -> None:
        """Have the process write down where it is, which Python does even while it is stuck."""
        self.asked_at = os.fstat(self.stderr.fileno()).st_size
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process.send_signal(signal.SIGUSR1)

    def answer(self) -> str:
        """Return what the process has written to its stderr since it was asked, or since it started."""
        size = os.fstat(self.stderr.fileno()).st_size - self.asked_at
        return os.pread(self.stderr.fileno(), size, self.asked_at).decode(errors="replace")  # both share its position

    def where(self) -> str:
        """Say where the process was when asked: "waits in barrier, cell line 4", or "cell 7 line 4"."""
        names = {key: f"cell {number}".removesuffix(f" {self.number}") for key, number in self.cells.items()}
        dump = re.sub(r'[^"]*ipykernel_\d+/(\d+)\.py', lambda file: names.get(file[1], file[0]), self.answer())
        dump = dump.replace("<timed exec>", "%%time")  # so IPython calls what is below it
        readers = {*names.values(), "%%time"}
        return where(dump, readers.__contains__, "{file} line") if dump else "does not say where it is"

    def last_words(self) -> str:
        """Return the last line that the process, which has ended, wrote to its stderr."""
        lines = self.answer().strip().splitlines()
        return lines[-1] if lines else "it has ended, and gave no reason"

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the cell, as the stop button does; a rank that is stuck ignores it."""
        self.interrupted = True
        self.signal(signal.SIGINT)

    def signal(self, number: int) -> bool:
        """Send a signal to the rank and to all that it has started; return whether one of them was there."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # they have ended
            os.killpg(self.process.pid, number)
            return True
        return False

    def end(self, deadline: float) -> None:
        """Wait until the rank and all that it has started have ended, as asked; from the deadline on, kill them."""
        while (not self.gone or self.signal(0)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.signal(signal.SIGKILL)
        with contextlib.suppress(psutil.TimeoutExpired):  # stuck in a driver, even SIGKILL has to wait
            self.process.wait(1)
        self.client.stop_channels()
        self.stderr.close()
