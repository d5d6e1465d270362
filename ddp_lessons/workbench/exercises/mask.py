"""The exercise on noise: a mask for dropout that is the rank's and the step's own, and can be had again."""

import zlib
from collections.abc import Callable
from itertools import combinations, product
from unittest.mock import patch

import torch
import torch.distributed as dist

from ddp_lessons.workbench.exercises.exercise import Exercise, first_hint, readable, with_hint
from ddp_lessons.workbench.on_ranks import Outcome

SHAPE, P = [40, 25], 0.2
AROUND = 0.09  # of a thousand numbers: six standard deviations
CASES = [(seed, step) for seed in (0, 1) for step in range(3)]
WORLD_SIZE = 128  # where seeds that are right on a few ranks can meet
GRID = list(product((0, 1, 2, 7, 10, 100, 1000), (0, 1, 2, 3, 7, 8, 10, 63, 64, 100, 127)))  # steps and ranks of it
ONE_BY_ONE = "each number is to be drawn on its own, and anew for each mask"


def try_mask(attempt: Callable, cases: list[tuple[int, int]]) -> dict[str, list]:
    """Return the mask in each case: a seed, and a step. It is asked for twice, with the global generator elsewhere.

    And once more where `dist.get_rank` gives the next rank: another process then stands for another run. And, of
    seed 0, the checksum of each mask in a larger world.
    """
    outputs, following = [], (dist.get_rank() + 1) % dist.get_world_size()
    for seed, step in cases:
        masks, moved = [], False
        for other in (1, 2):
            torch.manual_seed(other)
            before = torch.get_rng_state()
            masks.append(attempt(seed, step, SHAPE, P))
            moved |= not torch.equal(torch.get_rng_state(), before)
        if not isinstance(masks[0], torch.Tensor) or list(masks[0].shape) != SHAPE:
            return {"cases": [{"unfit": readable(getattr(masks[0], "shape", masks[0]))}], "grid": []}
        with patch.object(dist, "get_rank", lambda *_: following):
            of_next = attempt(seed, step, SHAPE, P).flatten().tolist()
        output = {"mask": masks[0].flatten().tolist(), "moved": moved, "same": torch.equal(*masks)}
        outputs.append(output | {"of_next": None if of_next == output["mask"] else of_next})
    return {"cases": outputs, "grid": [checksum(attempt, *place) for place in GRID]}


def checksum(attempt: Callable, step: int, rank: int) -> int:
    """Return a number for a mask of seed 0, as a rank of `WORLD_SIZE` would draw it."""
    seen = {"get_rank": lambda *_, **__: rank, "get_world_size": lambda *_, **__: WORLD_SIZE}
    with patch.multiple(dist, **seen):
        return zlib.crc32(str(attempt(0, step, SHAPE, P).tolist()).encode())


def judge(everything: list[dict[str, list]]) -> str:
    """Return what is wrong with the masks: first with each, then with two of them, and then in a larger world."""
    results = [given["cases"] for given in everything]
    for rank, outputs in enumerate(results):
        for (seed, step), output in zip(CASES, outputs, strict=False):
            if wrong := wrong_mask(output):
                return f"mask_of({seed}, {step}, {SHAPE}, {P}) on rank {rank} {wrong}"
    for outputs, after in zip(results, results[1:] + results[:1], strict=True):
        if any(mine["of_next"] not in (None, its["mask"]) for mine, its in zip(outputs, after, strict=True)):
            hint = "`hash` of words, and what the system counts, differ from process to process, and so from run to run"
            return with_hint("for one seed, step and rank, two processes draw two masks; right is the same", hint)
    return wrong_pair(
        {(*case, rank): o["mask"] for rank, given in enumerate(results) for case, o in zip(CASES, given, strict=True)}
    ) or wrong_grid(everything[0]["grid"])


def wrong_pair(masks: dict[tuple[int, int, int], list]) -> str:
    """Return what is wrong with two masks, each of a seed, a step and a rank; "" if they have nothing in common."""
    chance = P**2 + (1 - P) ** 2  # so many numbers are alike in two masks that know nothing of each other
    for one, other in combinations(masks, 2):
        if one[0] != other[0] and one[1:] != other[1:]:
            continue  # another run, and elsewhere: that is nobody's business
        alike = sum(a == b for a, b in zip(masks[one], masks[other], strict=True)) / len(masks[one])
        if abs(alike - chance) > AROUND:
            said = " and ".join(f"of seed {seed} in step {step} on rank {rank}" for seed, step, rank in (one, other))
            said = f"the masks {said} are alike in a part of {alike:.2f}; right is about {chance:.2f}, by chance"
            return with_hint(said, first_hint(mistakes(one, other)) if alike == 1 else ONE_BY_ONE)
    return ""


def wrong_grid(checksums: list[int]) -> str:
    """Return which two masks of a larger world are the same, "" if none are."""
    of = dict(zip(GRID, checksums, strict=True))
    if len(set(checksums)) == len({step for step, _ in GRID}):
        return ""  # whom it asks for the rank, we cannot answer for
    for one, other in combinations(GRID, 2):
        if of[one] == of[other]:
            said = " and ".join(f"of rank {rank} in step {step}" for step, rank in (one, other))
            said = f"in a world of {WORLD_SIZE}, the masks {said} are the same; right is that all differ"
            hint = "two seeds meet: which number belongs to one step and one rank, however many there are of both?"
            return with_hint(said, hint)
    return ""


def wrong_mask(output: dict) -> str:
    """Return what is wrong with a single mask, "" if nothing is."""
    if "unfit" in output:
        return with_hint(f"gave {output['unfit']}; right is a tensor of shape {SHAPE}", "does it return the mask?")
    mask = output["mask"]
    if output["moved"]:
        hint = "shuffles and first weights hang on it: `torch.Generator().manual_seed(…)` is one of your own"
        return with_hint("moved the global generator; right is to leave it", hint)
    if not output["same"]:
        hint = "a run can be repeated if all that the generator's seed is made of is the same again"
        return with_hint("gave two masks when called twice; right is the same again", hint)
    if set(mask) - {0, 1}:
        hint = "a mask says which numbers stay, and does not scale them"
        return with_hint(f"holds {readable(max(mask))}; right is True and False, or 1 and 0", hint)
    dropped = 1 - sum(mask) / len(mask)
    if abs(dropped - P) > AROUND:
        hint = "p is the part that is dropped" * (abs(dropped - 1 + P) < AROUND)
        return with_hint(f"is False or 0 in a part of {dropped:.2f}; right is about {P}", hint)
    return ""


def mistakes(one: tuple[int, int, int], other: tuple[int, int, int]) -> dict[str, bool]:
    """Return hints for two masks that are the same: each has a seed, a step and a rank."""
    seeds, steps, ranks = (first == second for first, second in zip(one, other, strict=True))
    return {
        "all ranks drop the same: what tells a rank from the others?": seeds and steps,
        "each step drops the same": seeds and ranks,
        "each run drops the same, whatever its seed": steps and ranks,
        "two numbers that are added can give what two others give: which numbers do not?": seeds,
    }


def hint(outcome: Outcome) -> str:
    """Return a hint for an attempt that failed, or hung."""
    return "no messages are needed: each rank can draw its own" * bool(outcome.late)


EXERCISES = {"mask_of": Exercise(try_mask, judge, (CASES,), hint)}
