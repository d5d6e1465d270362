"""How a script that was looked at came to its end, in a sentence."""

import re
from collections.abc import Iterator

from ddp_lessons.doctor.finding import where
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.calls import ending, is_consequence
from ddp_lessons.doctor.judge.launch import unfit
from ddp_lessons.running.program import FAILED, Program, ended, last_line

LONGEST = 200  # characters of a message


def why_ended(program: Program, run: Run) -> str:
    """Say why a script did not end by itself, or not well; nothing if it did."""
    if run.hang:
        return f"it hung and was ended: {run.hang}"
    if program.broken_off:
        return f"it was ended, {program.broken_off}: {program.where()}"
    failed = sorted(run.all("end"), key=lambda one: one[1]["at"])
    own = [one for one in failed if not is_consequence(one[1].get("error", ""))]
    causes = [unfit(run), *told(program, own), *killed(program, run), *told(program, failed), *left(run)]
    return next(filter(None, causes), "")


def told(program: Program, ends: list[tuple[int, dict]]) -> Iterator[str]:
    """Yield what each rank that failed said last."""
    for rank, end in ends:
        if end["how"] == "error":
            yield f"rank {rank} failed: {in_a_line(end['error'])}{', ' + where(end['place']) if end['place'] else ''}"
        elif end["how"] == "exit" and end["code"]:
            said = in_a_line(end["text"] or last_line(program.said().get(rank, "")))
            yield f"rank {rank} {ended(end['code'])}" + f": {said}" * bool(said)


def killed(program: Program, run: Run) -> Iterator[str]:
    """Yield what torchrun saw of a rank that could not say anything itself; what became of torchrun, if it saw none."""
    code = program.process.returncode
    if found := FAILED.search(program.launcher_said()):
        code, rank = map(int, found.groups())
        if code < 0 and ending(run, rank).get("how") != "done":  # gloo's threads abort now and then as Python leaves
            yield f"rank {rank} {ended(code)}"
    elif code:
        said = in_a_line(last_line(program.launcher_said()))
        yield f"torchrun {ended(code)}" + f": {said}" * bool(said)


def left(run: Run) -> Iterator[str]:
    """Yield the ranks that were gone in the middle."""
    for rank in run.ranks:
        if not ending(run, rank):
            yield f"rank {rank} left at once, as by os._exit: what it would have done at its end was not seen"


def in_a_line(text: str) -> str:
    """Return the first line of a message, without colours and the like."""
    line = (re.sub(r"\x1b\[[\d;]*m", "", text).strip().splitlines() or [""])[0]
    return "".join(filter(str.isprintable, line))[:LONGEST]
