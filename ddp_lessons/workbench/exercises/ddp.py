"""The exercises on DDP: a wrapper of one's own, and one that averages in buckets."""

from collections.abc import Callable
from functools import cache

import torch

from ddp_lessons.workbench.exercises.buckets import LIMITS, NOT_WAITED, unwaited, wrong_buckets, wrong_messages
from ddp_lessons.workbench.exercises.exercise import Exercise, first_hint, same, with_hint
from ddp_lessons.workbench.exercises.training import ROWS, small, state, train, try_training
from ddp_lessons.workbench.on_ranks import Outcome

EXACT = 1e-12
BUFFERS, FROZEN, TIED = ["shift", "count"], "frozen.weight", "first.weight"


@cache
def full_batch() -> tuple[dict, list[dict]]:
    """Return the state at the start, and the steps, of one process that starts as rank 0 and trains on all rows."""
    model = small(seed=0)
    return state(model), list(train(model, model, slice(ROWS)))


def local_gradients(step: int, rank: int, world_size: int) -> dict[str, list]:
    """Return the gradients of a rank's own rows, in a step before which all was right."""
    model = small(seed=0)
    before = full_batch()[1][step - 1]["state"] if step else full_batch()[0]
    tensors = {name: torch.tensor(values, dtype=torch.float64) for name, values in before.items()}
    model.load_state_dict(tensors, strict=False)  # it has the tied weight under two names
    return next(train(model, model, slice(rank, None, world_size)))["gradients"]


def scaled(values: dict | list | float, factor: float) -> dict | list | float:
    """Return numbers, however nested, times a factor."""
    if isinstance(values, dict):
        return {name: scaled(value, factor) for name, value in values.items()}
    return [scaled(value, factor) for value in values] if isinstance(values, list) else values * factor


def flat(values: dict | list | float | None) -> list[float]:
    """Return all numbers, however nested, in one list."""
    if isinstance(values, dict | list):
        return [number for value in (values.values() if isinstance(values, dict) else values) for number in flat(value)]
    return [] if values is None else [values]


def differing(given: dict, wanted: dict) -> list[str]:
    """Return the names under which two dicts of numbers differ."""
    return [name for name in wanted if not same(given[name], wanted[name], EXACT)]


def where(given: list | float | None, wanted: list | float) -> str:
    """Return the first numbers in which two values differ, in words."""
    if given is None:
        return "is missing"
    while isinstance(wanted, list):
        given, wanted = next(pair for pair in zip(given, wanted, strict=True) if not same(*pair, EXACT))
    return f"holds {given:.9g} where {wanted:.9g} is right"


def wrong_start(call: str, outputs: list[dict]) -> str:
    """Return what is wrong with what each rank starts from, "" if it is what rank 0 had."""
    wanted = full_batch()[0]
    for rank, output in enumerate(outputs):
        if names := differing(output["start"], wanted):
            own = differing(output["start"], state(small(seed=rank)))
            numbers = where(output["start"][names[0]], wanted[names[0]])
            return with_hint(
                f"after {call}, {names[0]} on rank {rank} {numbers}, as rank 0 had it",
                first_hint(
                    {
                        "rank 0's own have changed: it is the one that sends": rank == 0,
                        "each rank still has what it began with: rank 0's must arrive in this very model": not own,
                        "a frozen weight learns nothing, but it takes part: it must start equal too": names == [FROZEN],
                        "a buffer is no parameter: `model.buffers()` has it": names == BUFFERS,
                        "a buffer may hold whole numbers: it must start equal too": names == BUFFERS[1:],
                    }
                ),
            )
    return ""


def wrong_steps(outputs: list[dict]) -> str:
    """Return what is wrong with gradients or weights, "" if they are those of the full batch."""
    for step, wanted in enumerate(full_batch()[1]):
        for rank, output in enumerate(outputs):
            given = output["steps"][step]
            if names := differing(given["gradients"], wanted["gradients"]):
                numbers = where(given["gradients"][names[0]], wanted["gradients"][names[0]])
                wrong = f"in step {step + 1} the gradient of {names[0]} on rank {rank} {numbers}, as in the full batch"
                return with_hint(wrong, first_hint(gradient_mistakes(step, rank, outputs)))
            if names := differing(given["state"], wanted["state"]):
                numbers = where(given["state"][names[0]], wanted["state"][names[0]])
                return f"after step {step + 1} {names[0]} on rank {rank} {numbers}, as in the full batch"
    return ""


def gradient_mistakes(step: int, rank: int, outputs: list[dict]) -> dict[str, bool]:
    """Return hints for gradients."""
    given, world_size = outputs[rank]["steps"][step]["gradients"], len(outputs)
    wanted, local = full_batch()[1][step]["gradients"], local_gradients(step, rank, world_size)
    return {
        NOT_WAITED: any(unwaited(taken["heard"]) for output in outputs for taken in output["steps"][: step + 1]),
        "the step before was right: what must be put back before the next one?": step > 0,
        "the numbers are right, but in each other's places: is a bucket taken apart in the order it was joined in?": (
            same(sorted(flat(given)), sorted(flat(wanted)), EXACT)
        ),
        "that is the sum over ranks; the full batch's is the average": not differing(given, scaled(wanted, world_size)),
        "that is divided by the world size once too often": not differing(given, scaled(wanted, 1 / world_size)),
        "after backward each rank still has the gradient of its own samples": not differing(given, local),
        "that is the rank's own gradient, divided, and nobody else's is in it": (
            not differing(given, scaled(local, 1 / world_size))
        ),
        "only the tied weight is wrong: its gradient is complete when both its layers have added to it": (
            differing(given, wanted) == [TIED]
        ),
    }


def judge(name: str, options: list[list]) -> Callable[[list], str]:
    """Return a judge of a wrapper, tried with some options."""

    def verdict(results: list[list[dict]]) -> str:
        if unfit := [output["unfit"] for outputs in results for output in outputs if "unfit" in output]:
            return unfit[0]
        for option, outputs in zip(options, map(list, zip(*results, strict=True)), strict=True):
            call = f"{name}({', '.join(['model', *map(str, option)])})"
            said = wrong_buckets(*option, outputs) if option else wrong_messages(outputs)
            if wrong := wrong_start(call, outputs) or wrong_steps(outputs) or said:
                return wrong
        return ""

    return verdict


def hint(outcome: Outcome) -> str:
    """Return a hint for a wrapper that failed, or hung."""
    return first_hint(
        {
            "a frozen weight gets no gradient, so it can have no hook": "doesn't require gradient" in outcome.sentence,
            "change weights where autograd does not look: on `parameter.data`, or under `torch.no_grad()`": (
                "leaf Variable that requires grad" in outcome.sentence
            ),
            "a collective call comes back when all ranks have made it, each the same one: do they?": (
                bool(outcome.late) and not outcome.errors
            ),
        }
    )


EXERCISES = {
    name: Exercise(try_training, judge(name, options), (options,), hint)
    for name, options in {"MyDDP": [[]], "BucketedDDP": [[size] for size in LIMITS]}.items()
}
