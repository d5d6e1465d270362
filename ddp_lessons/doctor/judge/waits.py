"""Long waits: not wrong, but time lost."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Finding
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.calls import Call, at, by_group

LONG = 30  # seconds


def judge(run: Run) -> Iterator[Finding]:
    """Yield each line at which the others wait for a rank, once."""
    told = set()
    end = max((event["at"] for events in run.ranks.values() for event in events[-1:]), default=0)
    for calls in by_group(run).values() if not run.hang else ():
        for turn in range(max(map(len, calls.values()))):
            here = {rank: those[turn] for rank, those in calls.items() if turn < len(those)}
            first = min(here.values(), key=lambda call: call.event["at"])
            late = max(calls, key=lambda rank: here[rank].event["at"] if rank in here else end)
            until = here[late].event["at"] if late in here else end
            if until - first.event["at"] >= LONG and first.name != "Join":
                place = last_place(run, late, until)
                if (first.spot, place) not in told:
                    told.add((first.spot, place))
                    yield note(first, late, place, until - first.event["at"])


def note(first: Call, late: int, place: tuple | None, seconds: float) -> Finding:
    """Return the finding."""
    text = f"rank {first.rank} waited {seconds:.0f} s in {first.said()} for rank {late}, which was{at(place)} elsewhere"
    return Finding("DDP309", text, place)


def last_place(run: Run, rank: int, until: float) -> tuple | None:
    """Return the line that a rank was last seen at before a time."""
    places = [event["place"] for event in run.ranks[rank] if event["at"] < until and event.get("place")]
    return tuple(places[-1]) if places else None
