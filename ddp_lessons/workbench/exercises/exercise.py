"""What an exercise is: a trial that every rank runs, and a judge of what came of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ddp_lessons.workbench.on_ranks import Outcome

LONGEST = 150  # characters of a value in a sentence
ROUNDED = "that is exact to some digits: float32 has seven, float64 sixteen"


@dataclass
class Exercise:
    """How an attempt is tried, on ranks, and judged, in the notebook.

    `trial(attempt, *arguments)` runs on every rank, in a process group, and returns what JSON can hold; it judges
    nothing, so that all ranks reach its end. `judge(results)` gets what each rank returned, by rank, and returns
    what is wrong, with a hint where it knows the mistake; "" if nothing is. `hint(outcome)` returns a hint for an
    attempt that failed or was stuck, or "". `prepare()` runs on every rank before the clock does: slow imports.
    """

    trial: Callable
    judge: Callable[[list], str]
    arguments: tuple = ()
    hint: Callable[[Outcome], str] = lambda outcome: ""
    ranks: tuple[int, ...] = (2, 4)
    prepare: Callable[[], None] | None = None


def with_hint(wrong: str, hint: str) -> str:
    """Return a sentence about what is wrong, and a hint below it, if there is one."""
    return f"{wrong}\nhint: {hint}" if hint else wrong


def first_hint(mistakes: dict[str, bool]) -> str:
    """Return the first hint whose mistake was seen, "" if none was."""
    return next((hint for hint, seen in mistakes.items() if seen), "")


def same(given: object, wanted: object, within: float = 1e-6) -> bool:
    """Tell whether two answers are equal, numbers up to rounding."""
    if isinstance(wanted, list | tuple):
        alike = isinstance(given, list | tuple) and len(given) == len(wanted)
        return alike and all(same(*pair, within) for pair in zip(given, wanted, strict=True))
    return isinstance(given, int | float) and abs(given - wanted) < within


def readable(value: object) -> str:
    """Return a value for a sentence: a tuple as the list that it comes back as from a rank, whole numbers as such."""
    value = repr(value) if isinstance(value, str) else list(value) if isinstance(value, tuple) else value
    text = re.sub(r"\.0\b", "", str(value))
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"
