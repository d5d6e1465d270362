"""Kind 7: nothing is learned: gradients are missing, zero or not finite at every step, or weights never change."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding, named, place_of
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import gradients

LESSON = "lesson1_single_card"
CODES = {
    "DDP701": Code(
        "fault", "every gradient is zero", "look at what the loss is made of: it does not depend on the weights", LESSON
    ),
    "DDP702": Code("fault", "gradients are not finite", "lower the learning rate, or scale the inputs", LESSON),
    "DDP703": Code("fault", "no gradient comes", "give the optimizer the parameters of the model that is used", LESSON),
    "DDP704": Code("fault", "weights never change", "look at the learning rate, and at what a step does", LESSON),
    "DDP705": Code("fault", "no step is taken", "call the optimizer's step() after backward()", LESSON),
} | gradients.CODES
ENOUGH = 3  # steps that prove something


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found: once for each optimizer, naming the ranks where not all see the same."""
    for optimizer in sorted({event["optimizer"] for _, event in run.all("step")}):
        found = {rank: of_optimizer(run, rank, optimizer) for rank in run.ranks}
        found = {rank: one for rank, one in found.items() if one}
        if found:
            first = found[min(found)]
            same = [rank for rank, one in found.items() if one.code == first.code]
            steppers = {rank for rank, event in run.all("step") if event["optimizer"] == optimizer}
            on = "" if set(same) == steppers else f"on {named(sorted(same))} "
            yield Finding(first.code, on + first.text, first.place, first.grade)
    if not any(True for _ in run.all("step")):
        yield from without_steps(run)


def of_optimizer(run: Run, rank: int, optimizer: int) -> Finding | None:
    """Return why an optimizer of a rank learns nothing."""
    steps = merged([e for e in run.of("step", "stepped")[rank] if e["optimizer"] == optimizer])
    if len(steps) < ENOUGH:
        return None
    at, count = place_of(steps[0]), len(steps)
    made = [event for event in run.of("optimizer")[rank] if event["optimizer"] == optimizer]
    if all(one["none"] for one in steps):
        if len(prints(steps)) > 1:
            return None  # a closure's gradients are gone again
        if lost := gradients.cleared(run, rank, optimizer, "had no gradient") or gradients.no_way(run, rank, optimizer):
            return lost
        text = f"at all {count} steps no parameter of the optimizer had a gradient"
        return Finding("DDP703", text, place_of(made[0]) if made else at)
    if all(one["zero"] for one in steps):
        if lost := gradients.cleared(run, rank, optimizer, "had none but zeros"):
            return lost
        return Finding("DDP701", f"at all {count} steps every gradient was exactly zero", at)
    if not steps[-1]["finite"]:
        return not_finite(run, rank, steps)
    return still(run, rank, steps, made)


def merged(events: list[dict]) -> list[dict]:
    """Return an event for each step: what was seen before it, and `after`, fingerprints of what it left."""
    steps = []
    for event in events:
        if event["what"] == "step":
            steps.append(event | {"after": None})
        elif steps:
            more = {key: event[key] for key in ("zero", "finite", "none") if key in event}
            steps[-1] |= more | {"after": event.get("params")}
    return steps


def looked_at(step: dict) -> bool:
    """Tell whether the weights were looked at before and after a step."""
    return bool(step.get("params") and step["after"] and all(step["params"]))


def prints(steps: list[dict]) -> set[str]:
    """Return the different fingerprints that the weights had at steps that were looked at."""
    return {str(one[when]) for one in steps if looked_at(one) for when in ("params", "after")}


def not_finite(run: Run, rank: int, steps: list[dict]) -> Finding | None:
    """Return that gradients are not finite: at all steps, or from one on, after which the weights are not either."""
    first = next(at for at in range(len(steps)) if not any(one["finite"] for one in steps[at:]))
    if first == 0:
        return Finding("DDP702", f"at all {len(steps)} steps a gradient was not finite", place_of(steps[0]))
    lost = any(not event["finite"] for event in run.of("final")[rank])
    if len(steps) - first < ENOUGH or not lost:
        return None
    text = f"from step {first + 1} to the last, step {len(steps)}, a gradient was not finite, and weights are neither"
    return Finding("DDP702", text, place_of(steps[first]))


def still(run: Run, rank: int, steps: list[dict], made: list[dict]) -> Finding | None:
    """Return that the weights never changed, on steps that were looked at."""
    if len([one for one in steps if looked_at(one)]) < ENOUGH or len(prints(steps)) > 1:
        return None
    rates = [group.get("lr") for one in steps for group in one.get("hyper", [])]
    zero = all(rate == 0 for rate in rates) and bool(rates)
    limit = zero and any(end["how"] == "limit" for end in run.of("end")[rank])  # it may rise later
    given = [group["lr"] for one in made for group in one.get("hyper", []) if group.get("lr")]
    why = "its learning rate was 0" if zero else "gradients were not zero"
    if zero and given:
        why = f"its learning rate was {given[0]:g} when it was made, and 0 at its steps, as a scheduler may set it"
    text = f"{len(steps)} steps changed no weight, to the last bit: {why}"
    return Finding("DDP704", text, place_of((made or steps)[0] if zero else steps[0]), "suspect" if limit else "")


def without_steps(run: Run) -> Iterator[Finding]:
    """Yield what a script without any optimizer step learns: its wrappers' weights tell, or its losses."""
    for rank, made in run.of("optimizer").items():
        passes = [e for e in run.of("backward")[rank] if e["models"]]
        held = [e["params"] for e in run.of("forward")[rank] if e.get("params")]
        if made and len(passes) >= ENOUGH and len(held) >= ENOUGH and all(one == held[0] for one in held):
            text = f"{len(passes)} backwards, and never a step of an optimizer: the weights are as they were"
            yield Finding("DDP705", text, place_of(passes[0]))
            return
    for rank, passes in run.of("backward").items():
        if len(passes) >= ENOUGH and all(e["loss"] in ("nan", "inf", "-inf") for e in passes):
            yield Finding("DDP702", f"all {len(passes)} losses of rank {rank} were not finite", place_of(passes[0]))
            return
    for rank, events in run.of("reduced").items():
        seen = [event["grads"] for event in events]
        if len(seen) >= ENOUGH and all(one < 2 for grads in seen for one in grads):
            at = place_of(run.of("backward")[rank][0])
            yield Finding("DDP701", f"after all {len(seen)} backwards every gradient was exactly zero", at)
            return
