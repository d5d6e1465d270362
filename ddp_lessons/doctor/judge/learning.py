"""Kind 7: nothing is learned, since at every step the gradients are zero, or not finite."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding
from ddp_lessons.doctor.journal import Run

LESSON = "lesson1_single_card"
CODES = {
    "DDP701": Code(
        "fault", "every gradient is zero", "look at what the loss is made of: it does not depend on the weights", LESSON
    ),
    "DDP702": Code("fault", "gradients are not finite", "lower the learning rate, or scale the inputs", LESSON),
}
ENOUGH = 2  # steps that prove something


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found, once for each optimizer: all ranks see the same, so the first is asked."""
    steps = run.of("step")[0]
    for optimizer in sorted({event["optimizer"] for event in steps}):
        ours = [event for event in steps if event["optimizer"] == optimizer]
        place, count = tuple(ours[0]["place"]), len(ours)
        if count >= ENOUGH and all(event["zero"] for event in ours):
            yield Finding("DDP701", f"at all {count} steps every gradient was exactly zero", place)
        elif count >= ENOUGH and not any(event["finite"] for event in ours):
            yield Finding("DDP702", f"at all {count} steps a gradient was not finite", place)
