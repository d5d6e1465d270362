"""What an exercise is: a trial that every rank runs, and a judge of what came of it."""

from collections.abc import Callable
from dataclasses import dataclass

from ddp_lessons.workbench.on_ranks import Outcome


@dataclass
class Exercise:
    """How an attempt is tried, on ranks, and judged, in the notebook.

    `trial(attempt, *arguments)` runs on every rank, in a process group, and returns what JSON can hold; it judges
    nothing, so that all ranks reach its end. `judge(results)` gets what each rank returned, by rank, and returns
    what is wrong, with a hint where it knows the mistake; "" if nothing is. `hint(outcome)` returns a hint for an
    attempt that failed or was stuck, or "".
    """

    trial: Callable
    judge: Callable[[list], str]
    arguments: tuple = ()
    hint: Callable[[Outcome], str] = lambda outcome: ""
    ranks: tuple[int, ...] = (2, 4)


def with_hint(wrong: str, hint: str) -> str:
    """Return a sentence about what is wrong, and a hint below it, if there is one."""
    return f"{wrong}\nhint: {hint}" if hint else wrong


def same(given: object, wanted: object) -> bool:
    """Tell whether two answers are equal, numbers up to rounding."""
    if isinstance(wanted, list | tuple):
        return isinstance(given, list | tuple) and len(given) == len(wanted) and all(map(same, given, wanted))
    return isinstance(given, int | float) and abs(given - wanted) < 1e-6
