"""Kind 3: to be written."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding
from ddp_lessons.doctor.journal import Run

CODES: dict[str, Code] = {}


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found."""
    yield from ()
