"""Kind 3: calls among ranks that do not match: in order, kind, shape, type, root, or number."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding, named
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import one_rank, pairs, swaps, waits
from ddp_lessons.doctor.judge.calls import Call, Difference, ending, excused, first_difference, open_call, unlike

RANKS, DDP = "lesson2_ranks", "lesson4_ddp"
SAME = "make the same calls in the same order on every rank"
CODES = {
    "DDP301": Code("fault", "different calls meet", SAME, RANKS),
    "DDP302": Code("fault", "shapes or types differ", "give tensors of one shape and type on every rank", RANKS),
    "DDP303": Code("fault", "roots or operations differ", "name the same root and operation on every rank", RANKS),
    "DDP304": Code("fault", "a rank ends while others wait for it", "let all ranks end together", RANKS),
    "DDP305": Code("fault", "values change places", "take them in one order, such as sorted, on all ranks", RANKS),
    "DDP306": Code(
        "fault", "a message without its other half", "pair each send with a recv; let some ranks receive first", RANKS
    ),
    "DDP307": Code("fault", "a group not all make alike", "call new_group alike on all ranks, members or not", RANKS),
    "DDP308": Code("fault", "ranks wait in different groups", "use the groups in one order on every rank", RANKS),
    "DDP309": Code("note", "a rank waits long", "share the work that the others wait for", DDP),
    "DDP310": Code("fault", "all ranks wait", "see which of them has not yet done what the others wait for", RANKS),
}


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found."""
    found = first_difference(run)
    if found and not pairs.comes_first(run, found):
        if not one_rank.explain(run, found):
            yield explain(run, found)
    elif message := pairs.mismatch(run):
        yield message
    else:
        seen = [*never_begun(run), *pairs.misfits(run), *swaps.judge(run)]
        yield from seen or hung(run)
    yield from waits.judge(run)


def explain(run: Run, found: Difference) -> Finding:
    """Say how calls do not match."""
    here = found.at_index()
    there = [call for call in here.values() if call]
    missing = [rank for rank, call in here.items() if not call]
    what = unlike(there)
    if not what and missing:
        return left(run, missing[0], there)
    if any(call.name.startswith(("new_", "split_")) for call in (*there, *found_calls(found))):
        made = [call for call in (*found_calls(found), *there) if call.name.startswith(("new_", "split_"))]
        return Finding("DDP307", told(found_calls(found)), made[0].place)
    code = {"shape": "DDP302", "dtype": "DDP302", "op": "DDP303", "src": "DDP303", "dst": "DDP303"}.get(what, "DDP301")
    calls = there if code != "DDP301" else found_calls(found)
    return Finding(code, told(calls), odd(calls, what).place)


def found_calls(found: Difference) -> list[Call]:
    """Return the calls at the place where the ranks part."""
    return [call for call in found.at_cause().values() if call]


def told(calls: list[Call]) -> str:
    """Say which ranks make which of the calls."""
    makers: dict[str, list[int]] = {}
    for call in calls:
        makers.setdefault(f"{call.said()}{details(call)}", []).append(call.rank)
    return "; ".join(f"{named(ranks)}: {said}" for said, ranks in makers.items())


def details(call: Call) -> str:
    """Return what else a call names."""
    named_too = [f"{key} {call.event[key]}" for key in ("op", "src", "dst", "ranks", "gives") if key in call.event]
    return f" with {', '.join(named_too)}" if named_too else ""


def odd(calls: list[Call], what: str) -> Call:
    """Return the call that the fewest make; the first in the file, where that leaves several."""
    keys = {call.rank: (str(call.event.get(what)), call.place if what in ("name", "") else None) for call in calls}
    return min(calls, key=lambda call: (list(keys.values()).count(keys[call.rank]), call.place or ("", 0)))


def left(run: Run, rank: int, there: list[Call]) -> Finding:
    """Explain a rank that does not come to a call: it has ended, or waits elsewhere."""
    others = f"{named([call.rank for call in there])} wait{'s' * (len(there) == 1)} in {there[0].said()}"
    if (waiting := open_call(run, rank)) and {"src", "dst"} & waiting.event.keys() and "turn" not in waiting.event:
        return Finding("DDP306", f"rank {rank} waits in {waiting.said()}; {others}", waiting.place)
    if waiting:
        text = f"{others} of the group {there[0].event['group']}; rank {rank} waits in {waiting.said()}"
        return Finding("DDP308", f"{text} of the group {waiting.event.get('group')}", there[0].place)
    end = ending(run, rank)
    places = [event["place"] for event in run.ranks[rank] if event.get("place") and event["what"] != "left"]
    place = end.get("place") or (places[-1] if places else None)
    how = f"rank {rank} ended{f' at line {place[1]}' if end.get('place') else f', last seen at line {place[1]}'}"
    return Finding("DDP304", f"{how if place else f'rank {rank} ended'}, while {others}", place and tuple(place))


def never_begun(run: Run) -> Iterator[Finding]:
    """Yield a rank that ended without joining the group that others wait to begin."""
    stuck = [call for rank in run.ranks if (call := open_call(run, rank)) and call.name == "init_process_group"]
    begun = {rank for rank, event in run.all("call") if event["name"] == "init_process_group"}
    for rank in run.ranks:
        end = ending(run, rank)
        ended = end["how"] in ("done", "exit") if end else run.hang
        if stuck and rank not in begun and ended:
            yield left(run, rank, stuck)
            return


def hung(run: Run) -> Iterator[Finding]:
    """Yield a hang that no other finding explains."""
    waiting = [call for rank in run.ranks if (call := open_call(run, rank))]
    address = any(one.code == "DDP602" for one in run.found)
    if run.hang and waiting and not address and not any(excused(run, rank) for rank in run.ranks):
        yield Finding("DDP310", f"all ranks that still run wait, and nobody gets on: {told(waiting)}", waiting[0].place)
