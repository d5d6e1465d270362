"""The calls of all ranks, side by side: for each group the first place where they do not fit together."""

from collections.abc import Iterator
from dataclasses import dataclass

from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import source

PAIRS = {"send", "recv", "isend", "irecv", "send_object_list", "recv_object_list"}
ALONE = ["Connection closed", "Connection reset", "Broken pipe", "imed out", "Timeout", "failed to pass", "by peer"]


@dataclass(frozen=True)
class Call:
    """A call of a rank: what it is, which lines led to it, and the event itself."""

    rank: int
    event: dict

    @property
    def name(self) -> str:
        """Its name."""
        return self.event["name"]

    @property
    def trail(self) -> tuple:
        """The reader's lines that led to it, the innermost first."""
        lines = [self.event.get("place"), *self.event.get("trail", ())]
        return tuple(tuple(line) for line in lines if line)

    @property
    def place(self) -> tuple | None:
        """Its line."""
        return self.trail[0] if self.trail else None

    @property
    def spot(self) -> tuple:
        """What it is, and which lines led to it."""
        return self.name, self.trail

    def said(self) -> str:
        """Return it in words."""
        about = f" of {self.event['dtype']} {self.event['shape']}" if "shape" in self.event else ""
        names = {"buffers": "a forward that broadcasts buffers", "DistributedDataParallel": "wrapping a model"}
        return f"{names.get(self.name, self.name)}{about}{at(self.place)}"


@dataclass(frozen=True)
class Difference:
    """Where the calls of a group's ranks part: at number `index`, where they do not fit, or before, at other lines."""

    group: tuple
    index: int
    cause: int  # the first index at which the lines part, or `index`
    calls: dict[int, list[Call]]

    def at_cause(self) -> dict[int, Call | None]:
        """Return each rank's call there."""
        return {rank: get(calls, self.cause) for rank, calls in self.calls.items()}

    def at_index(self) -> dict[int, Call | None]:
        """Return each rank's call where they do not fit."""
        return {rank: get(calls, self.index) for rank, calls in self.calls.items()}

    def time(self) -> float:
        """Return when it was seen."""
        return max(call.event["at"] for call in self.at_index().values() if call)


def at(place: tuple | None) -> str:
    """Return " (line N)" for a place."""
    return f" (line {place[1]})" if place else ""


def get(calls: list, index: int) -> Call | None:
    """Return the call of a number, if there is one."""
    return calls[index] if index < len(calls) else None


def by_group(run: Run) -> dict[tuple, dict[int, list[Call]]]:
    """Return each group's calls, for each of its ranks, in order."""
    groups: dict[tuple, dict[int, list[Call]]] = {}
    for rank, event in run.all("call"):
        if "group" in event and event["name"] not in PAIRS and not event.get("thread") and event.get("pg") != "":
            members = [other for other in event["group"] if other in run.ranks]
            key = event["pg"], *event["group"]
            groups.setdefault(key, {one: [] for one in members}).setdefault(rank, []).append(Call(rank, event))
    return groups


def first_difference(run: Run) -> Difference | None:
    """Return the first place, in time, where the calls of a group do not fit."""
    found = [one for group, calls in by_group(run).items() if (one := difference(run, group, calls))]
    return min(found, key=Difference.time, default=None)


def difference(run: Run, group: tuple, calls: dict[int, list[Call]]) -> Difference | None:
    """Return where a group's calls do not fit, if anywhere."""
    for index in range(max(map(len, calls.values()))):
        here = {rank: get(those, index) for rank, those in calls.items()}
        there = [call for call in here.values() if call]
        missing = [rank for rank, call in here.items() if not call]
        if unlike(there) or (missing and not any(excused(run, rank) for rank in missing)):
            return Difference(group, index, cause(calls, index), calls)
        if missing:
            return None
    return None


def cause(calls: dict[int, list[Call]], index: int) -> int:
    """Return the first number at which the ranks come from different lines, other than the branches of a condition."""
    for earlier in range(index):
        spots = {calls[rank][earlier].trail for rank in calls}
        if len(spots) > 1 and not all(
            one == other or source.alternatives(source.around(one), source.around(other))
            for one in spots
            for other in spots
        ):
            return earlier
    return index


def unlike(calls: list[Call]) -> str:
    """Say in what calls that meet differ so that they do not fit: "name", "shape", …; nothing if they fit."""
    first = calls[0]
    for other in calls[1:]:
        for what in ("name", "dtype", "op", "src", "dst", "ranks"):
            if first.event.get(what) != other.event.get(what):
                return "group" if what == "ranks" else what
        if size(first) != size(other):
            return "shape"
    gives = [call.event.get("gives") for call in calls]
    gets = [call.event.get("gets") for call in calls]
    if all(gives) and all(gets) and len({len(calls), *map(len, gives), *map(len, gets)}) == 1:
        return "shape" if [list(row) for row in zip(*gives, strict=True)] != gets else ""
    return ""


def size(call: Call) -> object:
    """Return what has to be equal of the shapes: the count of numbers."""
    if "gives" in call.event or "shape" not in call.event:
        return None
    count = 1
    for length in call.event["shape"]:
        count *= length
    return count


def ending(run: Run, rank: int) -> dict:
    """Return how a rank ended; {} if it did not, by itself."""
    return next((event for event in run.ranks[rank] if event["what"] == "end"), {})


def excused(run: Run, rank: int) -> bool:
    """Tell whether a rank stopped for a reason that is none of its calls': a limit, an error, an end from outside."""
    end = ending(run, rank)
    if end.get("how") == "error":
        return not is_consequence(end["error"])
    return end.get("how") == "limit" or (not end and not run.hang) or bool(end.get("code"))


def is_consequence(error: str) -> bool:
    """Tell an error that a rank gets because of others."""
    return any(text in error for text in ALONE)


def open_call(run: Run, rank: int) -> Call | None:
    """Return the call that a rank was in when it was ended, or that failed because of others."""
    done = {event["number"]: event.get("error") for event in run.ranks[rank] if event["what"] == "done"}
    calls = [event for event in run.ranks[rank] if event["what"] == "call" and not event.get("thread")]
    waits = [one for one in calls if one["number"] not in done or is_consequence(done[one["number"]] or "")]
    if not waits:
        return None
    meant = next((one for one in calls if one["number"] == waits[-1].get("of")), {})
    return Call(rank, meant | waits[-1])


def visited(calls: list[Call], index: int) -> Iterator[tuple]:
    """Yield the spots of the calls before a number."""
    return (call.spot for call in calls[:index])
