"""A script that runs, with all its processes: what they say, where they hang, and their end."""

import contextlib
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from ddp_lessons.running.processes import children, cpu_seconds, end_with_parent, environment, kill
from ddp_lessons.running.stuck import where

GRACE = 2  # seconds that a process which is asked to end gets
IDLE = 0.05  # of a core: a waiting rank stays under it, though gloo's own thread looks around now and then
MARK = "DDP_LESSONS_PROGRAM"  # in the environment of all that a program starts
ABORTED = "Fatal Python error: Aborted"  # faulthandler's first line
MODULES = re.compile(r"^Extension modules: .*\n?", re.MULTILINE)  # faulthandler's last line, a long one
FAILED = re.compile(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+)")  # torchrun, of the rank that failed first
TICK = 0.1  # seconds between two looks at what runs
LONGEST = 1 << 20  # bytes of a line that has not ended: then it is yielded in parts


class Program:
    """Python with some arguments, on one thread a process; what each rank says on stderr is kept apart.

    It runs in `folder`. `readers(file)` tells the reader's own code from the libraries', and `line` is what a line of
    it is called; `late` and `idle` say that it was ended at a time-out.
    """

    line = "line"
    late = "not done after {:g} s (timeout= allows more)"
    idle = "nothing printed or computed for {:g} s (stuck= allows more)"

    def __init__(self, arguments: list[str], folder: Path, threads: int = 1):
        self.torchrun = arguments[0] == "-m"  # or a script, alone
        self.cwd = folder
        self.mark = str(uuid.uuid4())
        self.logs = tempfile.TemporaryDirectory(prefix="ddp_lessons-")
        self.broken_off = ""  # why, once it is
        self.started: set[int] = set()  # the ranks that torchrun had started then
        self.running: set[int] = set()  # those of them that still ran
        self.closing = 0.0  # since when torchrun ends its ranks
        self.heard = self.looked = time.monotonic()  # when it last did something, and when we looked for that
        self.computed = 0.0  # CPU seconds, when it was last seen to have computed
        with open(Path(self.logs.name, "stderr"), "wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                env=os.environ | self._environment(threads),
                cwd=folder,
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
        """Yield each line as it is printed, until the program has ended.

        Breaks it off after `timeout` seconds, after `stuck` idle ones, or once there is a signal in `stops`.
        """
        deadline, line = time.monotonic() + timeout, b""
        while True:
            ended = self.process.poll() is not None or self.broken_off
            if select.select([self.process.stdout], [], [], 0 if ended else TICK)[0]:
                if read := os.read(self.process.stdout.fileno(), 1 << 16):
                    self.heard = time.monotonic()
                    *lines, line = (line + read).split(b"\n")
                    yield from (f"{text.decode(errors='replace')}\n" for text in lines)
                    if len(line) > LONGEST:
                        yield line.decode(errors="replace")
                        line = b""
                elif ended:
                    break
                else:  # it has closed its stdout
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self.process.wait(TICK)
            elif ended:  # something that it has left behind holds its stdout
                break
            self._watch(deadline, self.late.format(timeout), stuck, stops)
        if line:
            yield line.decode(errors="replace")

    def _watch(self, deadline: float, late: str, stuck: float, stops: Sequence[int]) -> None:
        if self.broken_off:
            return
        if stops:
            self.break_off("interrupted")
        elif time.monotonic() > deadline:
            self.break_off(late)
        elif self._idle_for(stuck):
            self.break_off(self.idle.format(stuck))
        elif self.process.poll() is not None:
            kill(self.processes())  # it was killed, and its ranks still print
        elif "closing signal" in self.launcher_said():  # one has failed, and torchrun would give the others 30 s
            self.closing = self.closing or time.monotonic()
            if time.monotonic() > self.closing + GRACE:
                kill([process for process in self.processes() if process.pid != self.process.pid])

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
        self.broken_off, self.started = why, set(self._texts())
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.ppid() == self.process.pid if self.torchrun else process.pid == self.process.pid:
                    self.running.add(int(environment(process).get("RANK", 0)))
                    process.send_signal(signal.SIGABRT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        self.end()

    def end(self) -> None:
        """End all its processes, the kind way first."""
        processes = self.processes()  # some, in an environment of their own, are known only while their parent lives
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.terminate()
            self.process.wait(GRACE + 0.5)  # torchrun gives its ranks GRACE
        kill(processes + self.processes())
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in a driver, even SIGKILL has to wait
            self.process.wait(GRACE)

    def processes(self) -> list[psutil.Process]:
        """Return its living processes: the marked ones, whoever their parent is by now, and their children."""
        marked = [process for process in psutil.process_iter() if environment(process).get(MARK) == self.mark]
        return list({*marked, *children(self.process.pid)})

    def launcher_said(self) -> str:
        """Return what torchrun has said on stderr; the script itself, if there is no torchrun."""
        return Path(self.logs.name, "stderr").read_text(errors="replace")

    def said(self) -> dict[int, str]:
        """Return what each rank has said on stderr, before it was broken off; who spoke last comes last."""
        texts = {rank: MODULES.sub("", text) for rank, text in self._texts().items()}
        return {rank: text.partition(ABORTED)[0] if self.broken_off else text for rank, text in texts.items()}

    def where(self) -> str:
        """Say where each rank was when the program was broken off."""
        places = []
        for rank, text in sorted(self._texts().items()):
            if rank not in self.started:
                continue  # torchrun has started it in the moment that it had left
            begun = ABORTED in text or rank not in self.running
            place = where(text.partition(ABORTED)[2], self.readers, self.line) if begun else "had not begun"
            places.append(f"rank {rank} {place}" if self.torchrun else f"it {place}")
        return "; ".join(places) or "no rank had begun"

    def readers(self, file: str) -> bool:
        """Tell the reader's own code, which lies in the folder where it runs, from the libraries'."""
        return file.startswith(f"{self.cwd}{os.sep}") and "site-packages" not in file

    def _texts(self) -> dict[int, str]:
        if not self.torchrun:
            return {0: self.launcher_said()}
        logs = sorted(Path(self.logs.name).glob("*/attempt_*/*/stderr.log"), key=lambda log: log.stat().st_mtime_ns)
        return {int(log.parent.name): log.read_text(errors="replace") for log in logs}


def ended(code: int) -> str:
    """Say how a process ended, from its exit code."""
    return f"failed with exit code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"


def last_line(text: str) -> str:
    """Return the last line, without torch's "[rank0]: " and argparse's "script.py: error: " in front of it."""
    lines = text.strip().splitlines() or [""]
    return re.sub(r"^(\[rank\d+\]: )?(\S+\.py: error: )?", "", lines[-1])
