"""A script that is looked at, running on real ranks under torchrun: until it ends, hangs, or is late."""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ddp_lessons.doctor.finding import where
from ddp_lessons.doctor.hang import hangs
from ddp_lessons.doctor.journal import Run, is_readers, last_event, read
from ddp_lessons.doctor.outcome import why_ended
from ddp_lessons.running.processes import held_back
from ddp_lessons.running.program import Program
from ddp_lessons.running.torchrun import torchrun_command

TICK = 0.5  # seconds between two looks for a hang
CLEAR = "\r\x1b[K"  # the line on a terminal
IDLE = 120  # seconds in which no rank prints or computes anything


class Interrupted(Exception):
    """A signal, whose number is its argument, has ended the look at a script, and the script with it."""


class Patient(Program):
    """The processes of a script that is looked at, and what its ranks have written down so far."""

    readers, line = staticmethod(is_readers), "{file}, line"
    late = "not done after {:g} s (--timeout allows more)"
    idle = "nothing printed or computed for {:g} s"

    def __init__(self, script: str, arguments: Sequence[str], ranks: int, limit: int | None, folder: Path):
        torchrun = ["-m", "torch.distributed.run", *torchrun_command(ranks)[1:]]
        ours = ["-m", "ddp_lessons.doctor.rank", str(folder), str(limit or 0)]
        self.folder, self.ranks, self.hang, self.place = folder, ranks, "", None
        self.begun = self.seen = time.monotonic()
        super().__init__([*torchrun, *ours, script, *arguments], Path.cwd())

    def _environment(self, threads: int) -> dict[str, str]:
        return super()._environment(threads) | {"CUDA_VISIBLE_DEVICES": ""}  # the ranks are this machine's CPU's

    def _watch(self, deadline: float, late: str, stuck: float, stops: Sequence[int]) -> None:
        super()._watch(deadline, late, stuck, stops)
        if time.monotonic() > self.seen + TICK and not self.broken_off:
            self.seen = time.monotonic()
            self.tell()
            if why := hangs(self.folder, self.ranks):
                self.hang = why
                self.break_off("hangs")

    def tell(self) -> None:
        """Say on a terminal how far rank 0 is, in a line that the next one, or the report, takes the place of."""
        self.place = last_event(self.folder / "0.jsonl").get("place") or self.place
        if sys.stderr.isatty():
            at = f"is at {where(self.place)}" if self.place else "starts"
            print(f"{CLEAR}{time.monotonic() - self.begun:.0f} s: rank 0 {at}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End all its processes."""
        super().end()
        if sys.stderr.isatty():
            print(CLEAR, end="", file=sys.stderr)


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
    prints. Nothing is left running. Raises OSError if it cannot be started, Interrupted at Ctrl-C.
    """
    with tempfile.TemporaryDirectory(prefix="ddp_doctor-") as folder, held_back() as stops:
        patient = Patient(script, arguments, ranks, limit, Path(folder))
        try:
            for line in patient.lines(timeout, IDLE, stops):
                hear(line)
        finally:
            patient.end()
        run = read(Path(folder), ranks, script=script, hang=patient.hang)
        if stops:
            raise Interrupted(stops[0])
        return run, why_ended(patient, run)
