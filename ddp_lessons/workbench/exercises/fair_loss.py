"""The exercise on shares of unequal size: a loss whose gradient, as DDP averages it, is that of all samples."""

from collections.abc import Callable
from math import isclose

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.workbench.exercises.buckets import NOT_WAITED, unwaited
from ddp_lessons.workbench.exercises.ddp import differing, flat, where
from ddp_lessons.workbench.exercises.exercise import ROUNDED, Exercise, first_hint, same, with_hint
from ddp_lessons.workbench.exercises.listen import Listening, hearing_waits
from ddp_lessons.workbench.exercises.small_ddp import (
    CUT_OFF,
    factor,
    gradients,
    gradients_alone,
    hint,
    linear,
    prepare,
    samples,
    scaled,
)

SIZES = [[7, 1, 4, 2], [1, 9, 2, 6], [3, 3, 3, 3]]  # samples of each rank; of two ranks, the first two


def try_fair_loss(attempt: Callable, cases: list[list[int]]) -> list[dict]:
    """Return the loss, and the gradients that DDP leaves, in each case: how many samples each rank has."""
    outputs = []
    for sizes in cases:
        model, rank = linear(), dist.get_rank()
        inputs, labels = samples(rank, sizes[rank])
        wrapped = DDP(model)  # held until backward is done: gone, it would average nothing
        logits, heard = wrapped(inputs), []
        with Listening(heard), hearing_waits(heard):
            loss = attempt(logits, labels)
        loss.backward()
        outputs.append({"loss": loss.item(), "gradients": gradients(model), "unwaited": unwaited(heard)})
    return outputs


def judge(results: list[list[dict]]) -> str:
    """Return what is wrong with the gradients, by case and then by rank."""
    for case, outputs in zip(SIZES, zip(*results, strict=True), strict=True):
        sizes = case[: len(outputs)]
        batches = [samples(rank, size) for rank, size in enumerate(sizes)]
        wanted = gradients_alone(batches)
        for rank, output in enumerate(outputs):
            if left := output["unwaited"]:
                return with_hint(f"fair_loss on rank {rank} left {left} call of all_reduce without a wait", NOT_WAITED)
            if names := differing(output["gradients"], wanted):
                numbers = where(output["gradients"][names[0]], wanted[names[0]])
                wrong = f"the gradient of {names[0]} on rank {rank} {numbers}, as in one process"
                shares = f"with {' and '.join(map(str, sizes))} samples on the ranks"
                return with_hint(f"{shares}, {wrong}", first_hint(mistakes(outputs, batches, rank)))
    return ""


def mistakes(outputs: tuple[dict], batches: list[tuple], rank: int) -> dict[str, bool]:
    """Return hints for the gradients of a rank."""
    given, wanted, world_size = outputs[rank]["gradients"], gradients_alone(batches), len(outputs)
    each = [flat(gradients_alone([batch])) for batch in batches]
    mean = [sum(numbers) / world_size for numbers in zip(*each, strict=True)]
    times, of_means = factor(given, wanted), factor(given, mean)
    summed = any(output["loss"] != outputs[0]["loss"] for output in outputs)
    return {
        CUT_OFF: None in given.values(),
        ROUNDED: same(flat(given), flat(wanted), 1e-5),
        "a collective call changes the number that a loss is, and not its gradient: that stays the gradient of the "
        "rank's own samples. What must come from all ranks is a number without a gradient": (
            not summed and (bool(of_means) or isclose(times, 1 / world_size))
        ),
        "that is the mean of the ranks' means: a rank of few samples counts as much as one of many": bool(of_means),
        "DDP divides the sum over ranks by their number, which you have not asked for: what makes up for it?": (
            isclose(times, 1 / world_size)
        ),
        "that is a sum over samples: what is it to be divided by?": (
            any(isclose(times, sum(len(labels) for _, labels in batches) / n) for n in (1, world_size))
        ),
        **scaled(times),
    }


EXERCISES = {"fair_loss": Exercise(try_fair_loss, judge, (SIZES,), hint, prepare=prepare)}
