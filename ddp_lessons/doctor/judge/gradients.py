"""Kind 7, where no gradient is there at any step: the wrapper tells whether one ever came."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding, place_of
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.moments import pairs

LESSON = "lesson1_single_card"
CODES = {
    "DDP706": Code(
        "fault", "gradients are cleared before the step", "call zero_grad() before backward(), or after step()", LESSON
    ),
    "DDP707": Code(
        "fault",
        "the loss does not depend on the model",
        "compute the loss from the wrapper's output, with no .item(), detach() or no_grad() on the way",
        LESSON,
    ),
}


def cleared(run: Run, rank: int, optimizer: int, had: str) -> Finding | None:
    """Return that the gradients of an optimizer were there after each last backward, and gone at the step."""
    seen = list(last_backwards(run, rank, optimizer))
    known = [(backward, step, left) for backward, step, left in seen if left is not None]
    ours = {(model, name) for model, name in owners(run, rank, optimizer) if model is not None}
    if not known or not all(any(left.get(one, 0) > 1 for one in ours) for _, _, left in known):
        return None
    backward, step, _ = known[0]
    at = f" (line {backward['place'][1]})" if backward.get("place") else ""
    text = f"backward{at} left gradients, and at all {len(seen)} steps the optimizer {had}: they were cleared between"
    return Finding("DDP706", text, place_of(step))


def no_way(run: Run, rank: int, optimizer: int) -> Finding | None:
    """Return that an optimizer has what the model that ran is made of, and that no backward gave that a gradient."""
    ours = {(model, name) for model, name in owners(run, rank, optimizer) if model is not None}
    trainable = {(event["model"], name) for event in run.of("wrap")[rank] for name in event["trainable"]}
    ran = {event["model"] for event in run.of("forward")[rank]} & {model for model, _ in ours & trainable}
    seen = list(last_backwards(run, rank, optimizer))
    known = [(backward, left) for backward, _, left in seen if left is not None]
    if not ran or not known or any(run.of("raw", "grad", "altered", "no_sync")[rank]):
        return None  # gradients may come another way, or none is meant to
    if any(one > 1 for _, left in known for one in left.values()):
        return None
    text = f"the optimizer has what the model is made of, but none of {len(known)} backwards gave that a gradient"
    return Finding("DDP707", text, place_of(known[0][0]))


def owners(run: Run, rank: int, optimizer: int) -> list[list]:
    """Return the parameters that an optimizer has at last, as pairs of a wrapper's number, or None, and a name."""
    holds = [event for event in run.of("holds")[rank] if event["optimizer"] == optimizer]
    return holds[-1]["names"] if holds else []


def last_backwards(run: Run, rank: int, optimizer: int) -> Iterator[tuple[dict, dict, dict | None]]:
    """Yield (backward, step, what gradients the backward left) for each step, the last None where nobody looked."""
    names = {event["model"]: event["names"] for event in run.of("wrap")[rank]}
    backward, left = None, None
    for event in run.of("backward", "reduced", "step")[rank]:
        if event["what"] == "backward":
            backward, left = event, None
        elif event["what"] == "reduced":
            grads = pairs(names.get(event["model"], []), event["grads"])
            left = (left or {}) | {(event["model"], name): one for name, one in grads.items()}
        elif event["optimizer"] == optimizer and backward:
            yield backward, event, left
