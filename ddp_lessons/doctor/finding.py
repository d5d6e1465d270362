"""What the doctor says of a script: codes, findings, and the report."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

GRADES = ["fault", "suspect", "note"]


@dataclass(frozen=True)
class Code:
    """What a code stands for: its grade, what it is called, how it is mended, and the notebook that teaches it."""

    grade: str
    title: str
    mend: str
    lesson: str


@dataclass(frozen=True)
class Finding:
    """One thing that is found: a code, a sentence of what was seen, and the place, as (file, line) or None.

    `grade` says where it is another one than the code's.
    """

    code: str
    text: str
    place: tuple[str, int] | None = None
    grade: str = ""


def where(place: Sequence) -> str:
    """Return "file:line", relative to the current folder where that is shorter."""
    file, line = place
    return f"{min(file, os.path.relpath(file), key=len)}:{line}"


def place_of(event: dict | None) -> tuple | None:
    """Return the place of an event as findings have it; None where it has none."""
    return tuple(event["place"]) if event and event.get("place") else None


def named(ranks: Sequence[int]) -> str:
    """Return "rank 2", or "ranks 0, 1 and 2"."""
    *others, last = map(str, ranks)
    return f"ranks {', '.join(others)} and {last}" if others else f"rank {last}"
