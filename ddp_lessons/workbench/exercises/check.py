"""A reader's attempt at an exercise, tried on real ranks."""

import ast
from collections.abc import Callable

from ddp_lessons.workbench.exercises.exercise import Exercise, with_hint
from ddp_lessons.workbench.on_ranks import call_on_ranks
from ddp_lessons.workbench.ranks_in_cells import START
from ddp_lessons.workbench.ranks_magic import RanksFailed
from ddp_lessons.workbench.scripts import Refused
from ddp_lessons.workbench.source import in_notebook, source_of

TIMEOUT = 10  # seconds; a trial takes less than one


def check(attempt: Callable | type, ranks: tuple[int, ...] | None = None) -> None:
    """Try your function, or class, at the exercise of its name, and print what came of it.

    It runs in processes of its own, so that an endless one cannot freeze the notebook: on two ranks, and then on four,
    unless you give other numbers.
    """
    if not callable(attempt):
        raise Refused(f"{attempt!r:.60} is no function: give check the function itself, by its name, without quotes")
    from ddp_lessons.workbench.exercises.all import EXERCISES  # here: they import torch, which `launch` can do without

    name = getattr(attempt, "__name__", repr(attempt))
    if not in_notebook(attempt) or name not in EXERCISES:
        raise Refused(f"{name:.60} is no exercise: keep the name in the stub, after `def` or `class`")
    exercise = EXERCISES[name]
    if (left := unwritten(attempt)) is not None:
        return print(f"not solved yet{left}")
    sizes = ranks or exercise.ranks
    for size in sizes:
        if wrong := what_is_wrong(exercise, attempt, size, max(sizes)):
            return print(f"not yet: on {size} ranks, {wrong}" if size > 1 else f"not yet: {wrong}")
    print("solved" + f": on {' and on '.join(map(str, sizes))} ranks" * (max(sizes) > 1))


def unwritten(attempt: Callable | type) -> str | None:
    """Return None if nothing is left that ends in `...`, or else where, if that is not everywhere."""
    try:
        whole = ast.parse(source_of(attempt)).body[0]
    except ValueError as error:
        raise Refused(str(error)) from None
    parts = [part for part in getattr(whole, "body", []) if isinstance(part, ast.FunctionDef)]
    parts = parts if isinstance(whole, ast.ClassDef) else [whole]
    left = [part.name for part in parts if ast.unparse(part.body[-1]) in ("...", "return ...")]
    if not left:
        return None
    return "" if len(left) == len(parts) else f": {' and '.join(left)} still to be written"


def what_is_wrong(exercise: Exercise, attempt: Callable | type, ranks: int, most: int) -> str:
    """Return what is wrong with an attempt on so many ranks, with a hint where one is known; "" if nothing is."""
    if exercise.prepare:
        call_on_ranks(ranks, exercise.prepare, (), START, spare=most - ranks)
    outcome = call_on_ranks(ranks, exercise.trial, (attempt, *exercise.arguments), TIMEOUT, spare=most - ranks)
    if not outcome.tried:
        raise RanksFailed(outcome.sentence)
    if outcome.sentence:
        return with_hint(outcome.sentence, exercise.hint(outcome))
    return exercise.judge([outcome.results[rank] for rank in range(ranks)])
