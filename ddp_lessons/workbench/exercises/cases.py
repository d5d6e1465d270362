"""Exercises without communication, such as those in the lessons: each rank tries the same cases."""

from collections.abc import Callable
from math import ceil

from ddp_lessons.workbench.exercises.exercise import Exercise, readable, same, with_hint


def try_cases(attempt: Callable, cases: list) -> list:
    """Return what the attempt gives in each case."""
    return [attempt(*case) for case in cases]


def by_cases(name: str, answer: Callable, cases: list[tuple], hints: dict[str, Callable], **more: tuple) -> Exercise:
    """Return an exercise with a known answer. `hints` are wrong answers that deserve a hint of their own."""

    def judge(results: list) -> str:
        for outputs in results:
            for case, given in zip(cases, outputs, strict=True):
                if not same(given, wanted := answer(*case)):
                    call = f"{name}({', '.join(map(str, case))})"
                    return with_hint(f"{call} gave {readable(given)}, right is {readable(wanted)}", known(outputs))
        return ""

    def known(outputs: list) -> str:
        for text, wrong in hints.items():
            if all(same(given, wrong(*case)) for case, given in zip(cases, outputs, strict=True)):
                return text
        return ""

    return Exercise(trial=try_cases, arguments=(cases,), judge=judge, **more)


EXERCISES = {
    "average_loss": by_cases(
        "average_loss",
        answer=lambda means, sizes: sum(m * s for m, s in zip(means, sizes, strict=True)) / sum(sizes),
        ranks=(1,),  # lesson 1 has a single card
        cases=[([0.5, 0.5], [4, 4]), ([0.2, 1.0], [8, 2]), ([0.3, 0.6, 0.9], [1000, 1000, 500])],
        hints={
            "that is the mean of means: a small batch counts as much as a large one": (
                lambda means, sizes: sum(means) / len(means)
            ),
            "that divides a sum of means by a number of samples": lambda means, sizes: sum(means) / sum(sizes),
            "that is the sum over all samples: how many are there?": (
                lambda means, sizes: sum(m * s for m, s in zip(means, sizes, strict=True))
            ),
            "that is the sum over all samples, divided by the number of batches": (
                lambda means, sizes: sum(m * s for m, s in zip(means, sizes, strict=True)) / len(sizes)
            ),
        },
    ),
    "place_of": by_cases(
        "place_of",
        answer=lambda rank, cards: divmod(rank, cards),
        cases=[(0, 8), (7, 8), (8, 8), (15, 8), (5, 2)],
        hints={
            "the machine comes first, then the local rank": lambda rank, cards: divmod(rank, cards)[::-1],
            "the local rank starts again from 0 on each machine": lambda rank, cards: (rank // cards, rank),
            "machines are counted from 0": lambda rank, cards: (rank // cards + 1, rank % cards),
            "`/` gives fractions of a machine": lambda rank, cards: (rank / cards, rank % cards),
        },
    ),
    "share_of": by_cases(
        "share_of",
        answer=lambda rank, world_size, samples: list(range(rank, samples, world_size)),
        cases=[(0, 2, 10), (1, 2, 10), (0, 4, 10), (3, 4, 10), (2, 4, 2)],
        hints={
            "that is the sampler's padded share: some samples come twice": (
                lambda rank, n, samples: [i % samples for i in range(rank, ceil(samples / n) * n, n)]
            ),
            "that drops the samples that do not divide evenly": (
                lambda rank, n, samples: list(range(rank, samples // n * n, n))
            ),
            "all ranks would begin with sample 0: where does this one begin?": (
                lambda rank, n, samples: list(range(0, samples, n))
            ),
            "those are blocks, of a size rounded up; the sampler takes every world_size-th sample": (
                lambda rank, n, samples: list(range(samples))[ceil(samples / n) * rank : ceil(samples / n) * (rank + 1)]
            ),
            "those are blocks; the sampler takes every world_size-th sample": (
                lambda rank, n, samples: list(range(samples * rank // n, samples * (rank + 1) // n))
            ),
        },
    ),
    "recipe": by_cases(
        "recipe",
        answer=lambda n, batch, lr, samples: (n * batch, lr * n, ceil(ceil(samples / n) / batch)),
        cases=[(1, 32, 0.01, 60000), (2, 32, 0.01, 60000), (8, 32, 0.01, 60000), (3, 10, 0.1, 100)],
        hints={
            "the last, smaller batch is a step too": (
                lambda n, batch, lr, samples: (n * batch, lr * n, samples // n // batch)
            ),
            "gradients are averaged over ranks, so nothing has grown: the learning rate is yours to raise": (
                lambda n, batch, lr, samples: (n * batch, lr, ceil(ceil(samples / n) / batch))
            ),
            "all ranks take each step together: the global batch is what they read in it": (
                lambda n, batch, lr, samples: (batch, lr * n, ceil(ceil(samples / n) / batch))
            ),
            "a rank reads its own share only: that shortens its epoch": (
                lambda n, batch, lr, samples: (n * batch, lr * n, ceil(samples / batch))
            ),
        },
    ),
}
