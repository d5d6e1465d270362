"""What ranks in cells and launched scripts share: signals that must not break us off, and looking at processes."""

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator

import psutil

STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

libc = ctypes.CDLL(None)  # found before any fork: little is safe between fork and exec


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


def is_alive(process: psutil.Process) -> bool:
    """Tell whether a process has not ended, with all its threads; one that waits for its parent to look at it has."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
    except psutil.NoSuchProcess:
        return False


def exit_code(pid: int) -> int | None:
    """Return the exit code of a process that has just ended, on Linux until its parent has looked at it; else None."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        state, *_, status = file.read().rpartition(")")[2].split()
        return os.waitstatus_to_exitcode(int(status)) if state == "Z" else None
    return None


def children(pid: int) -> list[psutil.Process]:
    """Return what a process has started, and what that has started; nothing if it has ended."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def kill(processes: list[psutil.Process]) -> None:
    """Kill processes, of which some may have ended."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
