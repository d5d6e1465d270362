"""The judges, one for each kind of fault: each reads what the ranks have noted, and says what it proves.

Each has `CODES`, what its codes stand for, and `judge(run)`, which yields findings. A later one may look at what the
earlier have found, in `run.found`, and keep quiet about its consequences.
"""

from ddp_lessons.doctor.finding import GRADES, Code, Finding
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import collectives, data, drift, files, launch, learning, one_rank

JUDGES = [launch, one_rank, collectives, data, drift, files, learning]
CODES: dict[str, Code] = {code: meaning for judge in JUDGES for code, meaning in judge.CODES.items()}


def findings(run: Run) -> list[Finding]:
    """Return all that is found, each once, faults first and then by place."""
    run.found.clear()
    for judge in JUDGES:
        run.found.extend(judge.judge(run))
    return sorted(dict.fromkeys(run.found), key=lambda one: (GRADES.index(grade(one)), one.code, one.place or ("", 0)))


def grade(finding: Finding) -> str:
    """Return how grave a finding is."""
    return finding.grade or CODES[finding.code].grade
