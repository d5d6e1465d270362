"""Values that change places unseen: the calls fit, but ranks make them in another order."""

import itertools
import linecache
from collections.abc import Iterator

from ddp_lessons.doctor.finding import Finding
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import source
from ddp_lessons.doctor.judge.calls import Call, by_group

BLOCK = 64  # calls within which an order may come out even
ROOTED = {"broadcast", "reduce", "gather", "scatter", "gather_object", "broadcast_object_list", "scatter_object_list"}


def judge(run: Run) -> Iterator[Finding]:
    """Yield the first swap of each group."""
    for calls in by_group(run).values():
        first, *others = calls
        swaps = (swap for other in others for swap in between(calls[first], calls[other]))
        yield from itertools.islice(swaps, 1)


def between(one: list[Call], other: list[Call]) -> Iterator[Finding]:
    """Yield what two ranks send in different orders."""
    pairs = list(zip(one, other, strict=False))
    yield from crossed(pairs)
    for spot in dict.fromkeys(a.spot for a, b in pairs if a.spot == b.spot):
        yield from relabelled([(a, b) for a, b in pairs if a.spot == b.spot == spot])


def crossed(pairs: list[tuple[Call, Call]]) -> Iterator[Finding]:
    """Yield lines that two ranks come to in different orders."""
    start = 0
    while start < len(pairs):
        if pairs[start][0].trail != pairs[start][1].trail:
            for end in range(start + 2, min(start + BLOCK, len(pairs)) + 1):
                block = pairs[start:end]
                if sorted(a.trail for a, _ in block) == sorted(b.trail for _, b in block):
                    if all(is_swap(a, b) for a, b in block if a.trail != b.trail):
                        yield said(block, *(f"line {call.place[1]}" for call in block[0]))
                    start = end - 1
                    break
        start += 1


def is_swap(one: Call, other: Call) -> bool:
    """Tell whether two lines send different things: not two branches of one condition, nor the same again."""
    if one.name in ROOTED or source.alternatives(source.around(one.trail), source.around(other.trail)):
        return False
    lines = zip(one.trail[::-1], other.trail[::-1], strict=False)
    first, second = next(((a, b) for a, b in lines if a != b), (None, None))
    return bool(first) and linecache.getline(*first).strip() != linecache.getline(*second).strip()


def relabelled(pairs: list[tuple[Call, Call]]) -> Iterator[Finding]:
    """Yield what one line sends in different orders, as the variables that name it tell."""
    for key in {key for pair in pairs for call in pair for key in call.event.get("labels", {})}:
        labels = [tuple(call.event.get("labels", {}).get(key) for call in pair) for pair in pairs]
        for count in range(2, len(labels) + 1):
            ours, theirs = zip(*labels[:count], strict=True)
            if ours != theirs and sorted(map(str, ours)) == sorted(map(str, theirs)):
                sure = all(not isinstance(label, str) and label is not None for label in ours)
                first = next(pair for pair in labels if pair[0] != pair[1])
                names = [f"{key} = {label[0] if isinstance(label, list) else label}" for label in first]
                yield said(pairs, *names, grade="" if sure else "note")
                break


def said(pairs: list[tuple[Call, Call]], one: str, other: str, grade: str = "") -> Finding:
    """Return the finding for two things that meet."""
    (first, second), *_ = pairs
    text = f"what rank {first.rank} sends for {one} meets what rank {second.rank} sends for {other}: {first.said()}"
    return Finding("DDP305", text, first.place, grade)
