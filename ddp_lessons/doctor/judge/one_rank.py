"""Kind 4: some ranks alone do what all would have to do together, or leave out what the others do."""

import ast
import itertools
from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding, named
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import pairs, source
from ddp_lessons.doctor.judge.calls import Call, Difference, at, ending, first_difference, get, open_call, visited

DDP, RANKS, ANSWER = "lesson4_ddp", "lesson2_ranks", "lesson5_same_answer"
CODES = {
    "DDP401": Code(
        "fault",
        "the wrapped model runs on some ranks only",
        "call model.module there, or let all ranks run it on their share",
        "lesson6_score_and_resume",
    ),
    "DDP402": Code("note", "a wrapper evaluated on some ranks only", "call model.module there", DDP),
    "DDP403": Code("fault", "a call among ranks that some do not make", "let every rank of the group make it", RANKS),
    "DDP404": Code(
        "fault", "ranks decide alone to stop", "let all decide the same, from an all_reduce of the flag", DDP
    ),
    "DDP405": Code(
        "fault", "ranks take unequal numbers of steps", "give all ranks equal shares, or train inside Join", ANSWER
    ),
    "DDP406": Code(
        "fault", "a batch is skipped on some ranks", "let all skip it, or run it everywhere and weigh it with zero", DDP
    ),
}


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found."""
    found = first_difference(run)
    if found and not pairs.comes_first(run, found) and (finding := explain(run, found)):
        yield finding
    yield from evaluated(run)


def explain(run: Run, found: Difference) -> Finding | None:
    """Say what some ranks do alone where the calls part; None if it is another fault."""
    parts: dict[object, tuple[list[int], Call | None]] = {}
    for rank, call in found.at_cause().items():
        parts.setdefault(call and call.spot, ([], call))[0].append(rank)
    if len(parts) < 2:
        return None
    one, other = sorted(parts.values(), key=lambda part: (part[1] is None, len(part[0])))[:2]
    if other[1] is None:
        return missed(run, found, one, other[0])
    return parted(found, one, other)


def missed(run: Run, found: Difference, one: tuple, gone: list[int]) -> Finding | None:
    """Explain a call that some ranks do not come to, since they have ended."""
    call = one[1]
    if any(open_call(run, rank) for rank in gone) or not all(ending(run, rank).get("how") == "done" for rank in gone):
        return None
    if been(found, gone, call):
        return fewer(found, gone, one, source.loops(source.around(call.trail)))
    return alone(found, one, f"{named(gone)} {'has' if len(gone) == 1 else 'have'} ended")


def parted(found: Difference, one: tuple, other: tuple) -> Finding | None:
    """Explain two lines that ranks come to at the same time."""
    marks, others = source.around(one[1].trail), source.around(other[1].trail)
    known, others_known = been(found, other[0], one[1]), been(found, one[0], other[1])
    if source.alternatives(marks, others):
        return None
    if known and others_known:
        return in_turn(found, one, other)
    if known or (not others_known and source.conditional(others, marks) and not source.conditional(marks, others)):
        one, other, marks, others, known, others_known = other, one, others, marks, others_known, known
    if not others_known and not source.conditional(marks, others):
        return None
    left = (before(found) & source.loops(others)) - source.loops(marks)
    if others_known and left and not source.conditional(marks, others):
        return fewer(found, one[0], other, left)
    return alone(found, one, f"{named(other[0])} {'is' if len(other[0]) == 1 else 'are'} in {other[1].said()}")


def in_turn(found: Difference, one: tuple, other: tuple) -> Finding | None:
    """Explain two lines that both have come to before: a loop left, or a part of a round left out."""
    loops, others = (source.loops(source.around(part[1].trail)) for part in (one, other))
    left, others_left = (before(found) & others) - loops, (before(found) & loops) - others
    if bool(left) != bool(others_left):
        return fewer(found, one[0], other, left) if left else fewer(found, other[0], one, others_left)
    followed = {pair for calls in found.calls.values() for pair in follows(calls, found.cause)}
    earlier = get(found.calls[one[0][0]], found.cause - 1)
    usual, others_usual = ((earlier.spot, part[1].spot) in followed for part in (one, other))
    if usual != others_usual:
        return skipped(other[0], one) if usual else skipped(one[0], other)
    return None


def follows(calls: list[Call], index: int) -> list[tuple]:
    """Return which call followed upon which, before a number."""
    spots = list(visited(calls, index))
    return list(itertools.pairwise(spots))


def been(found: Difference, ranks: list[int], call: Call) -> bool:
    """Tell whether any of the ranks has made a call before."""
    return any(call.spot in visited(found.calls[rank], found.cause) for rank in ranks)


def before(found: Difference) -> frozenset:
    """Return the loops that the ranks were in before they parted."""
    calls = next(iter(found.calls.values()))
    return source.loops(source.around(calls[found.cause - 1].trail)) if found.cause else frozenset()


def alone(found: Difference, one: tuple, meanwhile: str) -> Finding | None:
    """Return the finding for a call that only some make: at the line that no other has been to."""
    ranks, call = one
    if call.name.startswith(("new_", "split_")):
        return None
    others = [calls for rank, calls in found.calls.items() if rank not in ranks]
    lines = {line for calls in others for other in calls for line in other.trail}
    place = next((line for line in call.trail if line not in lines), call.place)
    does = "runs" if len(ranks) == 1 else "run"
    if call.name == "buffers":
        text = f"{named(ranks)} alone {does} the wrapped model, which broadcasts its buffers, while {meanwhile}"
        return Finding("DDP401", text, place)
    return Finding("DDP403", f"{named(ranks)} alone {does} {call.said()}, while {meanwhile}", place)


def fewer(found: Difference, ranks: list[int], going: tuple, left: frozenset) -> Finding:
    """Return the finding for ranks that are done with a loop before the others are."""
    others, call = going
    rounds = [sum(spot == call.spot for spot in visited(found.calls[rank], found.cause)) for rank in ranks]
    text = (
        f"{named(ranks)} left the loop after {rounds[0]} times {call.said()}, "
        f"while {named(others)} went on and wait{'s' * (len(others) == 1)} there"
    )
    stops, skips = source.exits(left), source.exits(left, (ast.Continue,))
    loops = sorted((mark[1:3] for mark in left), key=lambda line: line[1], reverse=True)
    place = loops[0] if loops else call.place
    if stops or any(source.is_while(*loop) for loop in loops):
        return Finding("DDP404", text, stops[0] if len(stops) == 1 else place)
    if skips:
        return Finding("DDP406", text, skips[0] if len(skips) == 1 else place)
    return Finding("DDP405", text, place)


def skipped(ranks: list[int], going: tuple) -> Finding:
    """Return the finding for ranks that leave out a call of a round."""
    others, call = going
    text = f"{named(ranks)} left out {call.said()}, in which {named(others)} wait{'s' * (len(others) == 1)}"
    skips = source.exits(source.loops(source.around(call.trail)), (ast.Continue,))
    return Finding("DDP406", text, skips[0] if len(skips) == 1 else call.place)


def evaluated(run: Run) -> Iterator[Finding]:
    """Note each line at which some ranks alone ask a wrapper that has no buffers: it does no harm yet."""
    lines: dict[tuple, set[int]] = {}
    harmful = set()
    for rank, events in run.ranks.items():
        for event, after in zip(events, [*events[1:], {}], strict=True):
            if event["what"] == "forward" and not event.get("grad") and event.get("place"):
                lines.setdefault(tuple(event["place"]), set()).add(rank)
                if after.get("name") == "buffers":
                    harmful.add(tuple(event["place"]))  # only the first such call after a backward broadcasts them
    wrapped = {rank for rank, _ in run.all("wrap")}
    for place, ranks in lines.items():
        if ranks < wrapped and place not in harmful:
            yield Finding("DDP402", f"{named(sorted(ranks))} alone evaluated the wrapper{at(place)}", place)
