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
