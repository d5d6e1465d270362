"""A script that is looked at, running on real ranks under torchrun: until it ends, hangs, or is late."""

import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ddp_lessons.doctor.hang import hangs
from ddp_lessons.doctor.journal import Run, read
from ddp_lessons.doctor.judge.launch import unfit
from ddp_lessons.workbench.processes import held_back
from ddp_lessons.workbench.program import FAILED, Program
from ddp_lessons.workbench.torchrun import torchrun_command

TICK = 0.5  # seconds between two looks for a hang


class Patient(Program):
    """The processes of a script that is looked at, and what its ranks have written down so far."""

    def __init__(self, script: str, arguments: Sequence[str], ranks: int, limit: int | None, folder: Path):
        torchrun = ["-m", "torch.distributed.run", *torchrun_command(ranks)[1:]]
        ours = ["-m", "ddp_lessons.doctor.rank", str(folder), str(limit or 0)]
        self.folder, self.ranks, self.hang, self.seen = folder, ranks, "", time.monotonic()
        super().__init__([*torchrun, *ours, script, *arguments], Path.cwd())

    def _watch(self, deadline: float, late: str, stuck: float, stops: Sequence[int]) -> None:
        super()._watch(deadline, late, stuck, stops)
        if time.monotonic() > self.seen + TICK and not self.broken_off:
            self.seen = time.monotonic()
            if why := hangs(self.folder, self.ranks):
                self.hang = why
                self.break_off("hangs")


def examine(
    script: str,
    arguments: Sequence[str] = (),
    ranks: int = 2,
    limit: int | None = None,
    timeout: float = 600,
    hear: Callable[[str], None] = lambda line: None,
) -> tuple[Run, str]:
    """Run a script on `ranks` ranks of this machine's CPU, and return what was noted, and why it did not end well.

    `limit` is after how many optimizer steps it ends, `timeout` after how many seconds. `hear` gets each line that it
    prints. Nothing is left running. Raises OSError if it cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="ddp_doctor-") as folder, held_back() as stops:
        patient = Patient(script, arguments, ranks, limit, Path(folder))
        try:
            for line in patient.lines(timeout, timeout, stops):
                hear(line)
        finally:
            patient.end()
        run = read(Path(folder), ranks, script=script, limit=limit, hang=patient.hang)
        return run, "interrupted" if stops else why_ended(patient, run)


def why_ended(patient: Patient, run: Run) -> str:
    """Say in a sentence why a script did not end by itself, or not well; nothing if it did."""
    if patient.hang:
        return f"it hung and was ended: {patient.hang}"
    if patient.broken_off:
        return f"it was ended, {patient.broken_off}: {patient.where()}"
    if reason := unfit(run):
        return reason
    for rank, end in sorted(run.all("end"), key=lambda one: one[1]["at"]):
        if end["how"] == "error":
            return f"rank {rank} failed: {end['error']}"
        if end["how"] == "exit" and end["code"]:
            return f"rank {rank} ended with exit code {end['code']}: {last_line(patient.said().get(rank, ''))}"
    if patient.process.returncode:
        found = FAILED.search(patient.launcher_said())
        code, rank = map(int, found.groups()) if found else (patient.process.returncode, 0)
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"rank {rank} {how}" if found else f"torchrun {how}: {last_line(patient.launcher_said())}"
    return ""


def last_line(text: str) -> str:
    """Return the last line of a text."""
    return (text.strip().splitlines() or [""])[-1]
