"""A script of the course, run from a notebook as a reader would run it in a terminal."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from types import ModuleType

from ddp_lessons.workbench.scripts import ROOT, script_path

libc = ctypes.CDLL(None)  # found before any fork: little is safe between fork and exec


class Run(list):
    """The lines that a script printed. Shown as their number: they have been seen as they came."""

    def __repr__(self) -> str:
        return f"<{len(self)} lines>"

    @property
    def epochs(self) -> list[tuple[float, float, float]]:
        """What the script printed of each epoch: test loss, accuracy in percent, seconds of training."""
        line = re.compile(r"epoch \d+: test loss ([\d.]+), accuracy ([\d.]+)%, trained in ([\d.]+) s")
        return [tuple(map(float, found.groups())) for found in map(line.match, self) if found]


class LaunchError(RuntimeError):
    """A launched script did not end well; shown as one sentence."""

    def _render_traceback_(self) -> list[str]:
        return [f"LaunchError: {self}"]


def launch(lesson: ModuleType | str, *options: object, ranks: int | None = None, timeout: float = 600) -> Run:
    """Run the script of a lesson, or of that name, on `ranks` ranks; with no ranks, under plain `python`.

    Each rank computes on one core, as it would on one card: two ranks have twice the means of one.
    Prints the shell command first, then what the script prints, as it comes; returns those lines.
    Raises LaunchError if the script fails, or is not done within `timeout` seconds; nothing is left running then.
    """
    path = script_path(lesson)
    if not path.is_file():
        names = ", ".join(sorted(p.stem for p in path.parent.glob("*.py")))
        raise LaunchError(f"there is no script {path.stem}: write_script it first, or take one of {names}")
    script = [f"scripts/{path.name}", *map(str, options)]
    if ranks is None:
        print("$ OMP_NUM_THREADS=1 python", *script, flush=True)
        return stream(script, timeout)
    torchrun = ["--standalone", "--nproc-per-node", str(ranks), *script]
    print("$ OMP_NUM_THREADS=1 torchrun", *torchrun, flush=True)
    return stream(["-m", "torch.distributed.run", *torchrun], timeout)


def stream(arguments: list[str], timeout: float) -> Run:
    """Run Python in the project's folder, one thread a process; print each line as it comes, return them all."""
    deadline = time.monotonic() + timeout
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=end_with_parent,  # noqa: PLW1509 (it makes a single system call)
    )
    alarm = threading.Timer(timeout, end, [process])
    alarm.start()
    try:
        lines = Run(map(echo, process.stdout))
        process.wait(timeout=10)
    finally:
        alarm.cancel()
        end(process)
    if time.monotonic() > deadline:
        raise LaunchError(f"the script was ended: it was not done after {timeout:g} s; timeout= allows more")
    if process.returncode:
        raise LaunchError(f"the script failed with exit code {process.returncode}; what it said is above")
    return lines


def echo(line: str) -> str:
    """Print a line at once, and return it."""
    print(line, end="", flush=True)
    return line.rstrip("\n")


def end(process: subprocess.Popen) -> None:
    """End a command and all it started: SIGTERM lets torchrun end its workers, SIGKILL of torchrun would not."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=40)  # torchrun gives its workers 30 s
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def end_with_parent() -> None:
    """Ask Linux to send this process SIGTERM when the notebook's kernel ends, in whatever way."""
    if sys.platform == "linux":
        libc.prctl(1, signal.SIGTERM)  # 1: PR_SET_PDEATHSIG
