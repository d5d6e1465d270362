"""Ranks' kernels in a moment: forked from processes that have imported torch already, which takes seconds.

Those have computed nothing yet, so they can fork safely; a notebook's kernel, which may have, cannot. They are
two, since what is forked from one process has the same hash of each string, which no two ranks of a real run have:
neighbours have different ones, and the order of a set may differ between them.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import BinaryIO

import psutil

from ddp_lessons.running.processes import end_with_parent

READY = "ready"
TICK = 0.1  # seconds between two looks at whether the stop button was pressed
FORK = 30  # seconds for a fork, which takes a hundredth of one


class ForkServer:
    """The notebook's side of such a process, which ends when the notebook forgets this."""

    def __init__(self):
        self.ready = False
        self.environment = dict(os.environ)
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process lives)
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            start_new_session=True,  # the notebook's Ctrl-C is not for it
            preexec_fn=lambda: end_with_parent(signal.SIGKILL),  # noqa: PLW1509 (it makes a single system call)
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            text=True,
        )

    def fit(self) -> bool:
        """Tell whether it is alive, in the environment that the notebook still has."""
        return self.process.poll() is None and self.environment == dict(os.environ)

    def wait(self, deadline: float, pressed: Sequence) -> None:
        """Wait until it can fork. Raises RuntimeError if it cannot, and KeyboardInterrupt once `pressed`."""
        while not self.ready:
            if pressed:
                raise KeyboardInterrupt
            if time.monotonic() > deadline:
                raise RuntimeError("the ranks did not start in time")
            if select.select([self.process.stdout], [], [], TICK)[0]:
                self.ready = self._answer() == READY

    def start(self, options: list[str], environment: dict[str, str], stderr: BinaryIO) -> psutil.Process:
        """Return a new process: a kernel with these options, and with these variables besides the notebook's."""
        order = {"options": options, "environment": environment, "folder": os.getcwd()}
        order["stderr"] = f"/proc/{os.getpid()}/fd/{stderr.fileno()}"
        print(json.dumps(order), file=self.process.stdin, flush=True)
        if not select.select([self.process.stdout], [], [], FORK)[0]:
            raise RuntimeError("the ranks did not start in time")
        try:
            return psutil.Process(int(self._answer()))
        except psutil.NoSuchProcess:
            raise RuntimeError(f"the ranks did not start: {self._last_words()}") from None

    def __del__(self):
        self.process.stdin.close()  # it ends for want of orders

    def _answer(self) -> str:
        if answer := self.process.stdout.readline():
            return answer.strip()
        raise RuntimeError(f"the ranks did not start: {self._last_words()}")

    def _last_words(self) -> str:
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors="replace").splitlines()
        return lines[-1] if lines else "no reason was given"


class FreshProcesses:
    """The same where nobody has tried what a fork of such a process does: it starts each kernel anew."""

    def fit(self) -> bool:
        """Tell that it always is."""
        return True

    def wait(self, deadline: float, pressed: Sequence) -> None:
        """Wait for nothing."""

    def start(self, options: list[str], environment: dict[str, str], stderr: BinaryIO) -> psutil.Process:
        """Return a new process, as a fork server does."""
        kernel = subprocess.Popen(
            [sys.executable, "-m", "ipykernel_launcher", *options],
            env=os.environ | environment | {"JPY_PARENT_PID": str(os.getpid())},
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        return psutil.Process(kernel.pid)


latest: list[ForkServer] | list[FreshProcesses] = []


def fork_servers() -> list[ForkServer] | list[FreshProcesses]:
    """Return what starts kernels: those that there are, or new ones, which import while the notebook goes on."""
    global latest
    if not latest or not all(server.fit() for server in latest):
        latest = [ForkServer(), ForkServer()] if sys.platform == "linux" else [FreshProcesses()]
    return latest


def serve() -> None:
    """Import what ranks need for their first step; then fork one for each line that comes in, until none comes."""
    import ipykernel.kernelapp  # noqa: F401
    import torch._dynamo  # noqa: F401 (the first optimizer would import it)
    import torchvision  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a rank that has ended is gone at once
    print(READY, flush=True)
    for line in sys.stdin:
        if os.fork() == 0:
            be_rank(**json.loads(line))


def be_rank(options: list[str], environment: dict[str, str], folder: str, stderr: str) -> None:
    """Make the process what a fresh one would be, and run a kernel in it."""
    import numpy
    import torch
    from ipykernel.kernelapp import launch_new_instance

    print(os.getpid(), flush=True)
    end_with_parent(signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(folder)
    sys.argv[1:] = options
    os.environ.update(environment, JPY_PARENT_PID=str(os.getppid()))
    if "OMP_NUM_THREADS" in environment:
        torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))
    torch.seed()  # or all ranks would draw the same numbers (`random` sees to that itself)
    numpy.random.seed()
    nowhere, errors = os.open(os.devnull, os.O_RDWR), os.open(stderr, os.O_WRONLY | os.O_APPEND)
    for number, file in enumerate([nowhere, nowhere, errors]):
        os.dup2(file, number)
    launch_new_instance(options)
    sys.exit()
