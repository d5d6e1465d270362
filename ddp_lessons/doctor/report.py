"""The report: what was found, as text or as JSON, and what was looked at."""

import json

from ddp_lessons.doctor.finding import GRADES, Finding, where
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import CODES, grade


def chosen(findings: list[Finding], select: list[str], ignore: list[str]) -> list[Finding]:
    """Return the findings whose codes begin as one in `select`, if there is any, and as none in `ignore`."""
    kept = [one for one in findings if not select or one.code.startswith(tuple(select))]
    return [one for one in kept if not one.code.startswith(tuple(ignore))] if ignore else kept


def text(run: Run, findings: list[Finding], why: str) -> str:
    """Return the report for people."""
    lines = []
    for one in findings:
        code = CODES[one.code]
        lines += [f"{where(one.place) if one.place else run.script}: {one.code} {grade(one)}: {one.text}"]
        lines += [f"    mend:  {code.mend}", f"    learn: notebooks/{code.lesson}.ipynb"]
    counts = [len([one for one in findings if grade(one) == name]) for name in GRADES]
    numbers = [many(count, name) for count, name in zip(counts, GRADES, strict=True)]
    far = ", as far as it came" if why else ""
    lines += [f"{length(run)}{far}: {', '.join(numbers)}.", f"Looked at: {looked_at(run)}."]
    if why:
        lines += [f"The script did not end well: {why}"]
    return "\n".join(lines)


def length(run: Run) -> str:
    """Say how long the run was."""
    limit = ", then ended as asked" if any(end["how"] == "limit" for _, end in run.all("end")) else ""
    return f"{len(run.ranks)} ranks, {many(run.steps, 'step')}{limit}"


def looked_at(run: Run) -> str:
    """Say what of the run was compared between ranks."""
    compared = sum("params" in event for event in run.of("step")[0])
    seen = [
        many(len(run.of("wrap")[0]), "wrapped model"),
        many(len(run.of("optimizer")[0]), "optimizer"),
        many(len(run.of("call")[0]), "call") + " among ranks",
        many(len(list(run.all("pass"))), "pass") + " over data",
    ]
    return f"{', '.join(seen)}; weights at {many(compared, 'step')}; files; how the ranks begin, print and end"


def many(count: int, noun: str) -> str:
    """Return "1 step", "2 steps", "2 passes"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'es' if noun.endswith('s') else 's'}"


def as_json(run: Run, findings: list[Finding], why: str) -> str:
    """Return the report for programs."""
    found = []
    for one in findings:
        code, (file, line) = CODES[one.code], one.place or (None, None)
        about = {"code": one.code, "grade": grade(one), "file": file, "line": line, "text": one.text}
        found.append(about | {"title": code.title, "mend": code.mend, "lesson": code.lesson})
    whole = {"script": run.script, "ranks": len(run.ranks), "steps": run.steps, "failed": why or None}
    return json.dumps(whole | {"findings": found}, indent=1)
