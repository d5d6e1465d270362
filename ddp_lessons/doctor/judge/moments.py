"""Moments of a run at which ranks can be compared: those that each rank has come to, with what it held then."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ddp_lessons.doctor.finding import place_of
from ddp_lessons.doctor.journal import Run


@dataclass
class Moment:
    """What some ranks held at a moment: `prints` by rank and name, and where in each rank's events it stands.

    `key` is what happens ("wrap", "forward", "step", "stepped", "final"), in which optimizer, if any, and its number.
    """

    key: tuple
    prints: dict[int, dict[str, int]]
    grads: dict[int, dict[str, int]]
    events: dict[int, dict]
    at: dict[int, int]

    @property
    def step(self) -> int:
        """The number of the step, counted from 1."""
        return self.key[2] + 1

    def names(self) -> list[str]:
        """Return the names that each rank has."""
        first, *others = self.prints.values()
        return [name for name in first if all(name in other for other in others)]

    def differ(self) -> list[str]:
        """Return the names of what differs among ranks."""
        return differ(self.prints)

    def place(self, rank: int | None = None) -> tuple | None:
        """Return the line at which it was: that of one rank, or of the first."""
        return place_of(self.events.get(rank, self.events[min(self.events)]))



def differ(prints: dict[int, dict[str, int]]) -> list[str]:
    """Return the names, in order, whose fingerprints are known on all ranks and not the same on all."""
    first, *others = list(prints.values()) or [{}]
    return [name for name, one in first.items() if any(other.get(name, one) != one for other in others)]


def of_model(run: Run, model: int, ranks: list[int]) -> list[Moment]:
    """Return the moments at which a wrapper's parameters were looked at, in the order of the first of `ranks`."""
    return joined({rank: list(seen(run.ranks[rank], model)) for rank in ranks})


def of_optimizer(run: Run, optimizer: int, ranks: list[int]) -> list[Moment]:
    """Return the moments at which the parameters of an optimizer were looked at that are in no wrapper."""
    found = {rank: list(seen(run.ranks[rank], None)) for rank in ranks}
    return joined({rank: [one for one in all_ if one[0][1] == optimizer] for rank, all_ in found.items()})


def joined(found: dict[int, list[tuple]]) -> list[Moment]:
    """Return the moments that at least two ranks have come to."""
    by_rank = {rank: {one[0]: one for one in ones} for rank, ones in found.items()}
    moments = []
    for key in by_rank[min(by_rank)] if by_rank else ():
        here = {rank: ones[key] for rank, ones in by_rank.items() if key in ones}
        if len(here) > 1:
            prints, grads, events, at = ({rank: one[part] for rank, one in here.items()} for part in (1, 2, 3, 4))
            moments.append(Moment(key, prints, grads, events, at))
    return moments


def seen(events: list[dict], model: int | None) -> Iterator[tuple]:
    """Yield (key, prints, grads, event, place among the events) for a model, or for parameters that are in none."""
    names, holds, steps, reductions, since = [], {}, Counter(), 0, 0
    for at, event in enumerate(events):
        what, number, ours = event["what"], event.get("optimizer"), event.get("model") == model is not None
        if what == "wrap" and ours:
            names = event["names"]
            yield ("wrap", None, 0), pairs(names, event.get("params")), {}, event, at
        elif what == "backward" and model in event["models"]:
            reductions, since = reductions + 1, 0
        elif what == "forward" and ours and event["grad"]:
            since += 1
            if "params" in event:
                yield ("forward", None, (reductions, since)), pairs(names, event["params"]), {}, event, at
        elif what == "holds":
            holds[number] = [name if owner == model else None for owner, name in event["names"]]
        elif what in ("step", "stepped"):
            mine = holds.get(number, [])
            if "params" in event and any(mine):
                grads, step = pairs(mine, event.get("grads")), steps[number] - (what == "stepped")
                yield (what, number, step), pairs(mine, event["params"]), grads, event, at
            steps[number] += what == "step"
        elif what == "final" and ours:
            yield ("final", None, 0), pairs(list(event["values"]), event["params"]), {}, event, at


def pairs(names: list[str | None], prints: list[int] | None) -> dict[str, int]:
    """Return fingerprints by name, without the names of others and what has no fingerprint."""
    return {name: one for name, one in zip(names, prints or [], strict=False) if name is not None and one}


def apart(run: Run, name: str, ranks: list[int], model: int | None = None, optimizer: int | None = None) -> str:
    """Say by how much a tensor differs at the end; nothing where ranks did not get there."""
    finals = [[e for e in run.of("final").get(rank, []) if e.get("model") == model] for rank in ranks]
    finals = [[e for e in ones if e.get("optimizer") == optimizer and name in e["values"]] for ones in finals]
    if len(finals) < 2 or not all(finals):
        return ""
    values = [ones[-1]["values"][name] for ones in finals]
    largest = max((max(column) - min(column) for column in zip(*values, strict=False)), default=0)
    about = f"; at the end the largest difference, among {len(values[0])} of its numbers, is"
    return f"{about} {largest:.3g}" if largest > 0 else ""
