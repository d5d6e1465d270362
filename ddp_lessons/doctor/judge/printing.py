"""Lines that every rank prints."""

import re
from collections import defaultdict
from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding
from ddp_lessons.doctor.journal import Run

CODES = {
    "DDP604": Code(
        "suspect", "every rank prints the same line", "print on rank 0 alone, what it gathered", "lesson2_ranks"
    ),
}
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?|\b(?:nan|inf)\b")
BAR = re.compile(r"[^\x00-\x7f ]+| +")  # of a progress bar, and the gaps in it


def judge(run: Run) -> Iterator[Finding]:
    """Yield one finding for all lines that every rank prints, at the first of them."""
    lines = defaultdict(lambda: defaultdict(list))  # place and text without numbers, then rank
    for rank, event in run.all("printed"):
        if event.get("place"):
            key = tuple(event["place"]), BAR.sub(" ", NUMBER.sub("#", event["text"]))
            lines[key][rank].append(event["text"])
    same = {}
    for (place, _), ranks in lines.items():
        if len(ranks) == len(run.ranks) > 1 and not names_rank(ranks):
            same.setdefault(place, ranks)
    if same:
        (place, ranks), more = next(iter(same.items())), [line for _, line in list(same)[1:]]
        others = f"; so does line {', '.join(map(str, more[:9]))}" if more else ""
        alike, line = len({tuple(texts) for texts in ranks.values()}) > 1, ranks[0][0][:60].strip()
        text = f'all {len(ranks)} ranks print {"a line like " * alike}"{line}"{others}'
        yield Finding("DDP604", text, place)


def names_rank(ranks: dict[int, list[str]]) -> bool:
    """Tell whether one of the numbers in the lines is everywhere the rank, counted from 0 or 1."""
    numbers = {rank: [NUMBER.findall(text) for text in texts] for rank, texts in ranks.items()}
    columns = {rank: list(zip(*found, strict=True)) for rank, found in numbers.items()}
    for column in range(min(map(len, columns.values()))):
        for first in (0, 1):
            if all(set(columns[rank][column]) == {str(rank + first)} for rank in ranks):
                return True
    return False
