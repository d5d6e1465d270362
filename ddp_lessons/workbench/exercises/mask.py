"""The exercise on noise: a mask for dropout that is the rank's and the step's own, and can be had again."""

from collections.abc import Callable
from itertools import combinations
from unittest.mock import patch

import torch
import torch.distributed as dist

from ddp_lessons.workbench.exercises.exercise import Exercise, first_hint, readable, with_hint
from ddp_lessons.workbench.on_ranks import Outcome

SHAPE, P = [40, 25], 0.2
AROUND = 0.09  # of a thousand numbers: six standard deviations
CASES = [(seed, step) for seed in (0, 1) for step in range(3)]
ONE_BY_ONE = "each number is to be drawn on its own, and anew for each mask"


def try_mask(attempt: Callable, cases: list[tuple[int, int]]) -> list[dict]:
    """Return the mask in each case: a seed, and a step. It is asked for twice, with the global generator elsewhere.

    And once more where `dist.get_rank` gives the next rank: another process then stands for another run.
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
            return [{"unfit": readable(getattr(masks[0], "shape", masks[0]))}]
        with patch.object(dist, "get_rank", lambda *_: following):
            of_next = attempt(seed, step, SHAPE, P).flatten().tolist()
        output = {"mask": masks[0].flatten().tolist(), "moved": moved, "same": torch.equal(*masks)}
        outputs.append(output | {"of_next": None if of_next == output["mask"] else of_next})
    return outputs


def judge(results: list[list[dict]]) -> str:
    """Return what is wrong with the masks: first with each, and then with two of them."""
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
    )


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
