"""Which of two ranks' events comes first in every run, however fast each is: told by the calls that lie between."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ddp_lessons.doctor.journal import Run

PAIRS = {"send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list", "recv_object_list"}


@dataclass
class Moment:
    """Where in a rank's sequence something happened."""

    rank: int
    begun: Counter = field(default_factory=Counter)  # calls so far, for each group
    done: Counter = field(default_factory=Counter)
    locks: frozenset = frozenset()  # files that it had locked
    waits: int = 0  # on keys of a store, so far
    sets_left: int = 0  # keys of a store that it has yet to set


def moments(run: Run, *whats: str) -> Iterator[tuple[Moment, dict]]:
    """Yield (moment, event) for the events of some kinds, rank after rank."""
    for rank, events in run.ranks.items():
        begun, done, names, locks, waits = Counter(), Counter(), {}, frozenset(), 0
        left = sum(event["what"] == "store" and event["did"] != "wait" for event in events)
        for event in events:
            what = event["what"]
            if what == "call" and event["name"] != "wait":
                names[event["number"]] = group = group_of(event)
                begun[group] += 1
            elif what == "done" and event["number"] in names:
                done[names[event["number"]]] += 1
            elif what == "store":
                waits, left = waits + (event["did"] != "set"), left - (event["did"] != "wait")
            elif what == "file" and event["did"] == "lock":
                locks |= {event["path"]}
            if what in whats:
                yield Moment(rank, begun.copy(), done.copy(), locks, waits, left), event


def group_of(call: dict) -> str:
    """Return a name for those who take part in a call, the same on all of them."""
    return "pairs" if call["name"] in PAIRS else f"{call.get('pg')} {call.get('group')}"


def before(one: Moment, other: Moment) -> bool:
    """Tell whether a moment comes before another rank's, which has ended a call that this one had yet to begin."""
    passed = any(other.done[group] > one.begun[group] for group in other.done)
    return passed or bool(one.sets_left and other.waits)


def ordered(one: Moment, other: Moment) -> bool:
    """Tell whether two ranks' moments come one after the other in every run; a file that both lock orders them too."""
    return before(one, other) or before(other, one) or bool(one.locks & other.locks)
