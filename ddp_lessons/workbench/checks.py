"""The exercises in the lessons: a reader's function, tried against a known answer."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil


@dataclass
class Exercise:
    """A known answer, the arguments to try it with, and wrong answers that deserve a hint of their own."""

    answer: Callable
    cases: list[tuple]
    hints: dict[str, Callable]


EXERCISES = {
    "average_loss": Exercise(
        answer=lambda means, sizes: sum(m * s for m, s in zip(means, sizes, strict=True)) / sum(sizes),
        cases=[([0.5, 0.5], [4, 4]), ([0.2, 1.0], [8, 2]), ([0.3, 0.6, 0.9], [1000, 1000, 500])],
        hints={
            "that is the mean of means: a small batch counts as much as a large one": (
                lambda means, sizes: sum(means) / len(means)
            ),
            "that divides a sum of means by a number of samples": lambda means, sizes: sum(means) / sum(sizes),
        },
    ),
    "place_of": Exercise(
        answer=lambda rank, cards: divmod(rank, cards),
        cases=[(0, 8), (7, 8), (8, 8), (15, 8), (5, 2)],
        hints={"the machine comes first, then the local rank": lambda rank, cards: divmod(rank, cards)[::-1]},
    ),
    "share_of": Exercise(
        answer=lambda rank, world_size, samples: list(range(rank, samples, world_size)),
        cases=[(0, 2, 10), (1, 2, 10), (0, 4, 10), (3, 4, 10), (2, 4, 2)],
        hints={
            "that is the sampler's padded share: some samples come twice": (
                lambda rank, n, samples: [i % samples for i in range(rank, ceil(samples / n) * n, n)]
            ),
            "that drops the samples that do not divide evenly": (
                lambda rank, n, samples: list(range(rank, samples // n * n, n))
            ),
            "those are blocks; the sampler takes every world_size-th sample": (
                lambda rank, n, samples: list(range(samples * rank // n, samples * (rank + 1) // n))
            ),
        },
    ),
    "recipe": Exercise(
        answer=lambda n, batch, lr, samples: (n * batch, lr * n, ceil(ceil(samples / n) / batch)),
        cases=[(1, 32, 0.01, 60000), (2, 32, 0.01, 60000), (8, 32, 0.01, 60000), (3, 10, 0.1, 100)],
        hints={
            "the last, smaller batch is a step too": (
                lambda n, batch, lr, samples: (n * batch, lr * n, samples // n // batch)
            ),
            "gradients are averaged over ranks, so nothing has grown: the learning rate is yours to raise": (
                lambda n, batch, lr, samples: (n * batch, lr, ceil(ceil(samples / n) / batch))
            ),
        },
    ),
}


def check(attempt: Callable) -> None:
    """Try your function against the exercise of its name, and print what came of it."""
    exercise = EXERCISES.get(attempt.__name__)
    if not exercise:
        return print(f"no exercise is called {attempt.__name__}; there are {', '.join(EXERCISES)}")
    for case in exercise.cases:
        given, wanted = attempt(*case), exercise.answer(*case)
        if given is None or given is ...:
            return print("not solved yet")
        if not same(given, wanted):
            call = f"{attempt.__name__}({', '.join(map(str, case))})"
            return print(f"not yet: {call} gave {given}, right is {wanted}{hint(exercise, attempt)}")
    print("solved")


def hint(exercise: Exercise, attempt: Callable) -> str:
    """Return the hint for the wrong answer that `attempt` gives in all cases, if it is a known one."""
    for text, wrong in exercise.hints.items():
        if all(same(attempt(*case), wrong(*case)) for case in exercise.cases):
            return f"\nhint: {text}"
    return ""


def same(given: object, wanted: object) -> bool:
    """Tell whether two answers are equal, numbers up to rounding."""
    if isinstance(wanted, list | tuple):
        return isinstance(given, list | tuple | range) and len(given) == len(wanted) and all(map(same, given, wanted))
    given = given.item() if getattr(given, "shape", None) == () else given  # a tensor of one number
    return isinstance(given, int | float) and abs(given - wanted) < 1e-6
