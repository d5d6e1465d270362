"""A script that runs, with all its processes: what they say, where they hang, and their end."""

import contextlib
import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from ddp_lessons.workbench.scripts import ROOT
from ddp_lessons.workbench.stuck import where

GRACE = 2  # seconds that a process which is asked to end gets
IDLE = 0.05  # of a core: a waiting rank stays under it, though gloo's own thread looks around now and then
MARK = "DDP_LESSONS_PROGRAM"  # in the environment of all that a program starts
ABORTED = "Fatal Python error: Aborted"  # faulthandler's first line
FAILED = re.compile(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+)")  # torchrun, of the rank that failed first
STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
TICK = 0.1  # seconds between two looks at what runs

libc = ctypes.CDLL(None)  # found before any fork: little is safe between fork and exec


class Program:
    """Python with some arguments, on one thread a process; what each rank says on stderr is kept apart."""

    def __init__(self, arguments: list[str], folder: Path, threads: int = 1):
        self.torchrun = arguments[0] == "-m"  # or a script, alone
        self.mark = str(uuid.uuid4())
        self.logs = tempfile.TemporaryDirectory(prefix="ddp_lessons-")
        self.broken_off = ""  # why, once it is
        self.heard = self.looked = time.monotonic()  # when it last did something, and when we looked for that
        self.computed = 0.0  # CPU seconds, when it was last seen to have computed
        with open(Path(self.logs.name, "stderr"), "wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                env=os.environ | self._environment(threads),
                cwd=folder,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=self._prepare,  # noqa: PLW1509 (it makes two system calls)
            )

    def _environment(self, threads: int) -> dict[str, str]:
        # PET_…: options for torchrun, so that the command stays the one that is shown
        options = {"PET_LOG_DIR": self.logs.name, "PET_REDIRECTS": "2", "PET_SHUTDOWN_TIMEOUT": str(GRACE)}
        ours = {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": str(threads), "PYTHONFAULTHANDLER": "1", MARK: self.mark}
        return options | ours

    def _prepare(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # SIGABRT would leave a core dump
        end_with_parent(signal.SIGTERM if self.torchrun else signal.SIGKILL)

    def lines(self, timeout: float, stuck: float, stops: Sequence[int] = ()) -> Iterator[str]:
        """Yield each line as it is printed.

        Breaks the program off after `timeout` seconds, after `stuck` idle ones, or once there is a signal in `stops`.
        """
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(over, timeout, stuck, stops), daemon=True)
        watch.start()
        try:
            for line in self.process.stdout:
                self.heard = time.monotonic()
                yield line
        finally:
            over.set()
            watch.join()

    def _watch(self, over: threading.Event, timeout: float, stuck: float, stops: Sequence[int]) -> None:
        deadline = time.monotonic() + timeout
        while not over.wait(TICK):
            if stops:
                return self.break_off("interrupted")
            if self.process.poll() is not None:
                return self.end()  # it was killed, and ranks that it has left behind hold its stdout
            if time.monotonic() > deadline:
                return self.break_off(f"not done after {timeout:g} s (timeout= allows more)")
            if self._idle_for(stuck):
                return self.break_off(f"nothing printed or computed for {stuck:g} s (stuck= allows more)")
            if "closing signal" in self.launcher_said() and not over.wait(GRACE):
                self.kill(but=self.process.pid)  # one has failed, and torchrun would wait 28 s more for the others

    def _idle_for(self, seconds: float) -> bool:
        now = time.monotonic()
        if now > self.looked + min(1, seconds / 10):  # looking costs more than a tick should
            processes, self.looked = self.processes(), now
            computed = sum(map(cpu_seconds, processes))
            if computed - self.computed > IDLE * seconds * len(processes):
                self.heard, self.computed = now, computed
        return now - self.heard > seconds

    def break_off(self, why: str) -> None:
        """End the program; every rank writes down where it is, which faulthandler does at SIGABRT."""
        self.broken_off = why
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.ppid() == self.process.pid if self.torchrun else process.pid == self.process.pid:
                    process.send_signal(signal.SIGABRT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        self.end()

    def end(self) -> None:
        """End all its processes, the kind way first."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.terminate()
            self.process.wait(GRACE + 0.5)  # torchrun gives its ranks GRACE
        self.kill()
        self.process.wait()

    def kill(self, but: int | None = None) -> None:
        """Kill its processes, whatever they do."""
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.pid != but:
                    process.kill()

    def processes(self) -> list[psutil.Process]:
        """Return its living processes, whoever their parent is by now."""
        return [process for process in psutil.process_iter() if environment(process).get(MARK) == self.mark]

    def launcher_said(self) -> str:
        """Return what torchrun has said on stderr; the script itself, if there is no torchrun."""
        return Path(self.logs.name, "stderr").read_text(errors="replace")

    def said(self) -> dict[int, str]:
        """Return what each rank has said on stderr, before it was broken off."""
        return {rank: text.partition(ABORTED)[0] if self.broken_off else text for rank, text in self._texts().items()}

    def where(self) -> str:
        """Say where each rank was when the program was broken off."""
        places = {rank: where(text.partition(ABORTED)[2], is_ours) for rank, text in self._texts().items()}
        return "; ".join(f"rank {rank} {place}" if self.torchrun else f"it {place}" for rank, place in places.items())

    def _texts(self) -> dict[int, str]:
        if not self.torchrun:
            return {0: self.launcher_said()}
        logs = Path(self.logs.name).glob("*/attempt_*/*/stderr.log")
        texts = {int(log.parent.name): log.read_text(errors="replace") for log in logs}
        return dict(sorted(texts.items()))


@contextlib.contextmanager
def held_back() -> Iterator[list[int]]:
    """Have the stop button, or Ctrl-C, fill a list, and not break off our code with processes half started or ended."""
    came = []
    main = threading.current_thread() is threading.main_thread()  # elsewhere signals raise nothing
    stops = [stop for stop in STOPS if main and callable(signal.getsignal(stop))]
    usual = {stop: signal.signal(stop, lambda number, _frame: came.append(number)) for stop in stops}
    try:
        yield came
    finally:
        for stop, handler in usual.items():
            signal.signal(stop, handler)


def end_with_parent(number: int) -> None:
    """Have Linux send this process a signal when its parent ends, in whatever way; other systems have no such thing."""
    if sys.platform == "linux":
        libc.prctl(1, number)  # 1: PR_SET_PDEATHSIG


def is_ours(file: str) -> bool:
    """Tell the project's own code from the libraries'."""
    return file.startswith(f"{ROOT}{os.sep}") and "site-packages" not in file


def environment(process: psutil.Process) -> dict[str, str]:
    """Return the environment a process was started with; nothing if that is not for us to see, or it has ended."""
    try:
        return process.environ()
    except (psutil.Error, OSError):
        return {}


def cpu_seconds(process: psutil.Process) -> float:
    """Return the seconds a process has computed; 0 if it has ended."""
    try:
        return sum(process.cpu_times()[:2])
    except psutil.Error:
        return 0.0
