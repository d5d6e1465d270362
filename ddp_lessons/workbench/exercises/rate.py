"""The exercise on the learning rate for a larger batch: what it is in each step."""

from collections.abc import Callable
from functools import cache

import torch
from torch import optim

from ddp_lessons.blocks.schedule import scale_lr
from ddp_lessons.workbench.exercises.cases import by_cases


@cache
def rate_of_torch(step: int, lr: float, scale: float, rule: str, warmup_steps: int) -> float:
    """Return the rate of a step, as the lesson's schedule sets it: that of an optimizer which took those before it."""
    optimizer = optim.SGD([torch.zeros(1)], lr=lr)
    scale_lr(optimizer, scale, rule, warmup_steps)
    for _ in range(step):
        optimizer.step()
    return optimizer.param_groups[0]["lr"]


def mistaken(climb: Callable, sqrt: Callable = lambda lr, scale: lr * scale**0.5, none: float = 0) -> Callable:
    """Return a wrong answer. `climb` takes step and warmup_steps, the first rate and the last one.

    `sqrt` gives the last one from rate and scale, and `none` is 1 where that rule is taken for `linear`.
    """

    def rate(step: int, lr: float, scale: float, rule: str, warmup_steps: int) -> float:
        top = {"none": lr * scale**none, "linear": lr * scale, "sqrt": sqrt(lr, scale)}[rule]
        return climb(step, warmup_steps, lr, top) if warmup_steps else top

    return rate


def part(first: float, last: float, done: float) -> float:
    """Return the rate when a part of the climb is done, and after all of it."""
    return first + (last - first) * min(1, done)


def right(step: int, steps: int, lr: float, top: float) -> float:
    """Return the rate of a climb as it should be."""
    return part(lr, top, step / steps)


CASES = [  # step, lr, scale, rule, warmup_steps
    *[(step, 0.1, 4, "linear", 3) for step in range(5)],
    *[(step, 0.2, 9, "sqrt", 4) for step in (0, 1, 3, 4, 50)],
    (0, 0.1, 8, "linear", 0),
    *[(step, 0.1, 4, "none", 5) for step in (0, 2, 9)],
    (2, 0.05, 1, "linear", 5),
]
HINTS = {
    "that begins at 0: the climb begins at lr itself, and `none` has no climb": mistaken(
        lambda step, steps, lr, top: part(0, top, step / steps)
    ),
    "the climb begins at lr itself, not at 0, and that is the rate of step 0": mistaken(
        lambda step, steps, lr, top: part(0, top, (step + 1) / steps)
    ),
    "the climb is a step ahead: lr itself is the rate of step 0": mistaken(
        lambda step, steps, lr, top: part(lr, top, (step + 1) / steps)
    ),
    "step warmup_steps is the first with the scaled rate: there are as many steps up to it": mistaken(
        lambda step, steps, lr, top: part(lr, top, step / (steps - 1))
    ),
    "by equal amounts, not by equal factors: what is added in each step?": mistaken(
        lambda step, steps, lr, top: lr * (top / lr) ** min(1, step / steps)
    ),
    "the root is that of the scale, and not that of the rate": mistaken(right, lambda lr, scale: (lr * scale) ** 0.5),
    "after warmup_steps steps the rate stays": mistaken(lambda step, steps, lr, top: lr + (top - lr) * step / steps),
    "that is the scaled rate: what of the warm-up?": mistaken(lambda step, steps, lr, top: top),
    "with `none` the rate stays lr": mistaken(right, none=1),
}
EXERCISES = {"rate_at": by_cases("rate_at", rate_of_torch, CASES, HINTS)}
