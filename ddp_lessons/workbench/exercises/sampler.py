"""The exercises on the sampler: its partition, the samples it counts twice, and the exact score."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.utils.data.distributed import DistributedSampler

from ddp_lessons.workbench.exercises.cases import by_cases
from ddp_lessons.workbench.exercises.exercise import ROUNDED, Exercise, first_hint, readable, same, with_hint
from ddp_lessons.workbench.on_ranks import Outcome


def partition(samples: int, rank: int, world_size: int, seed: int, epoch: int) -> list[int]:
    """Return what the sampler of torch gives a rank."""
    sampler = DistributedSampler(range(samples), world_size, rank, seed=seed)
    sampler.set_epoch(epoch)
    return list(sampler)


def shuffled(samples: int, seed: int) -> list[int]:
    """Return the samples in the order that the sampler of torch gives them."""
    return torch.randperm(samples, generator=torch.Generator().manual_seed(seed)).tolist()


def padded(order: list[int], world_size: int) -> list[int]:
    """Return an order, begun again from the front until it divides evenly."""
    length = -(-len(order) // world_size) * world_size
    return [order[place % len(order)] for place in range(length)]


def block(order: list[int], rank: int, world_size: int) -> list[int]:
    """Return a rank's share in one piece."""
    size = len(order) // world_size
    return order[rank * size : (rank + 1) * size]


def padded_once(order: list[int], missing: int) -> list[int]:
    """Return an order with as much of its front added as is missing, and no more than there is."""
    return order + order[:missing]


def from_the_end(order: list[int], missing: int) -> list[int]:
    """Return an order with as much of its end added as is missing."""
    return order + order[len(order) - missing :]


def answers(samples: int, turned: bool) -> list[bool]:
    """Return for each sample whether it was classified right: two of three are, or the other way round."""
    return [(sample % 3 != 1) != turned for sample in range(samples)]


def score_share(samples: int, rank: int, world_size: int) -> list[int]:
    """Return a rank's share, padding and all, in an order of which nothing was said."""
    return partition(samples, rank, world_size, seed=0, epoch=0)[::-1]


def try_score(attempt: Callable, cases: list[tuple[int, bool]]) -> list[object]:
    """Return the score that the attempt gives on this rank, in each case: a number of samples, and which are right."""
    scores = []
    for samples, turned in cases:
        share = score_share(samples, dist.get_rank(), dist.get_world_size())
        scores.append(attempt(share, [answers(samples, turned)[i] for i in share], samples))
    return scores


def judge_score(results: list[list]) -> str:
    """Return what is wrong with the scores, by rank and then by case."""
    for (samples, turned), given in zip(CASES, zip(*results, strict=True), strict=True):
        right = sum(answers(samples, turned)) / samples
        for rank, score in enumerate(given):
            if not same(score, right, 1e-12):
                wrong = f"of {samples} samples, rank {rank} gave the score {readable(score)}; right is {right}"
                return with_hint(wrong, first_hint(score_mistakes(answers(samples, turned), list(given))))
    return ""


def score_mistakes(right: list[bool], given: list) -> dict[str, bool]:
    """Return hints for scores that were given, by rank, where these samples were right."""
    world_size, samples = len(given), len(right)
    shares = [score_share(samples, rank, world_size) for rank in range(world_size)]
    whole = world_size - sum(map(len, shares)) + samples  # so many of the ranks have a share without padding
    in_place = sum(right[i] for rank, share in enumerate(shares) for i in share[: len(share) - (rank >= whole)])
    hits = [sum(right[i] for i in share) for share in shares]
    local = [hit / len(share) for hit, share in zip(hits, shares, strict=True)]
    exact = [sum(right) / samples] * world_size
    return {
        ROUNDED: same(given, exact, 1e-6),
        "that is the rank's own share alone; the others' answers are needed": same(given, local, 1e-9),
        "the padding is in it: a sample that came twice counts twice": (
            same(given, [sum(hits) / sum(map(len, shares))] * world_size)
        ),
        "right answers are counted twice where a sample came twice, though it is divided by the true number": (
            same(given, [sum(hits) / samples] * world_size)
        ),
        "the samples are told apart by their numbers, in `indices`; in a share they can come in any order": (
            same(given, [in_place / samples] * world_size)
        ),
        "that is a sum over samples: a share is a part of one": same(given, [sum(right)] * world_size),
        "not every rank gave the score: all must": any(same(score, exact[0]) for score in given),
    }


def score_hint(outcome: Outcome) -> str:
    """Return a hint for an attempt that failed or hung."""
    waits = any(place.startswith("waits in ") for place in outcome.late.values()) and not outcome.errors
    return "a collective call comes back when all ranks have made it: do all?" * waits


# a sample that comes twice is right in one case and wrong in the other; 24 samples need no padding
CASES = [(samples, turned) for samples in (11, 25, 101, 24, 3) for turned in (False, True)]

EXERCISES = {
    "my_partition": by_cases(
        "my_partition",
        answer=partition,
        cases=[
            *[(10, rank, 2, 0, 0) for rank in range(2)],
            *[(11, rank, 4, 7, 3) for rank in range(4)],
            *[(2, rank, 5, 1, 1) for rank in range(5)],  # padding longer than what there is
            (1000, 2, 8, 42, 9),
            (1001, 7, 8, 42, 9),
        ],
        hints={
            "that is in order: the sampler shuffles, with `torch.randperm` and a generator": (
                lambda samples, rank, n, seed, epoch: padded(list(range(samples)), n)[rank::n]
            ),
            "that is the same in each epoch": (
                lambda samples, rank, n, seed, epoch: padded(shuffled(samples, seed), n)[rank::n]
            ),
            "each rank shuffles in a way of its own: shares overlap, and samples are missed": (
                lambda samples, rank, n, seed, epoch: padded(shuffled(samples, seed + epoch + rank), n)[rank::n]
            ),
            "those are blocks; the sampler takes every world_size-th": (
                lambda samples, rank, n, seed, epoch: block(padded(shuffled(samples, seed + epoch), n), rank, n)
            ),
            "that drops what does not divide evenly; the sampler begins again from the front": (
                lambda samples, rank, n, seed, epoch: shuffled(samples, seed + epoch)[: samples // n * n][rank::n]
            ),
            "the shares differ in length: the sampler makes them equal": (
                lambda samples, rank, n, seed, epoch: shuffled(samples, seed + epoch)[rank::n]
            ),
            "what is missing is taken from the end; the sampler begins again from the front": (
                lambda samples, rank, n, seed, epoch: (
                    from_the_end(shuffled(samples, seed + epoch), -samples % n)[rank::n]
                )
            ),
            "what is missing is not sample 0 again and again; the sampler begins again from the front": (
                lambda samples, rank, n, seed, epoch: (shuffled(samples, seed + epoch) + [0] * (-samples % n))[rank::n]
            ),
            "that adds a round where all divides evenly": (
                lambda samples, rank, n, seed, epoch: (
                    padded_once(shuffled(samples, seed + epoch), n - samples % n)[rank::n]
                )
            ),
            "with fewer samples than missing places, the front is needed more than once": (
                lambda samples, rank, n, seed, epoch: (
                    padded_once(shuffled(samples, seed + epoch), -samples % n)[rank::n]
                )
            ),
        },
    ),
    "counted_twice": by_cases(
        "counted_twice",
        answer=lambda samples, n: list(range(-samples % n)),
        cases=[(10, 4), (11, 4), (12, 4), (9, 8), (6000, 7), (5, 1)],
        hints={
            "so many are left over from whole rounds; how many are missing to the next whole round?": (
                lambda samples, n: list(range(samples % n))
            ),
            "if all divides evenly, nothing is missing": lambda samples, n: list(range(n - samples % n)),
            "the sampler begins again from the front": (
                lambda samples, n: list(range(samples - (-samples % n), samples))
            ),
            "that is how many; which ones are they?": lambda samples, n: -samples % n,
        },
    ),
    "exact_score": Exercise(try_score, judge_score, (CASES,), score_hint),
}
