"""What was read in a run: each pass of each rank through a loader, and whether it was for training or for scoring."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise

from ddp_lessons.doctor.journal import Run

Groups = dict[tuple, dict[int, list["Pass"]]]


@dataclass(eq=False)
class Loader:
    """A loader of a rank, as it was noted."""

    event: dict

    @property
    def made(self) -> tuple | None:
        """Return the line where its sampler was made, or the loader itself."""
        return tuple(self.event["made"]) if self.event.get("made") else None

    @property
    def origin(self) -> tuple | None:
        """Return the line where its part of the data was made, or else `made`."""
        return tuple(self.event["part"]) if self.event.get("part") else self.made

    @cached_property
    def contents(self) -> list[int] | range | None:
        """Return the samples of its root that are in its data set."""
        parts = self.event.get("contents")
        return range(*parts[1:]) if parts and parts[0] == "range" else parts

    def __getattr__(self, name: str) -> object:
        return self.event.get(name)


@dataclass(eq=False)
class Pass:
    """A pass of a rank through a loader: its batches, and `phase`: "train", "score" or "" where that is not known."""

    rank: int
    loader: Loader
    event: dict
    batches: list[dict] = field(default_factory=list)
    passed: bool = False
    marks: set = field(default_factory=set)
    phase: str = ""
    dealt: bool = False  # ranks take turns at its batches, and these are the rank's own
    era: int = 0  # how many wrappers had been made: a new model has not learned from what an earlier one did

    @property
    def complete(self) -> bool:
        """Tell whether all batches were handed out."""
        length = self.event.get("length")
        return self.passed or (length is not None and len(self.batches) >= length)

    @property
    def place(self) -> tuple | None:
        """Return the line that reads it."""
        place = next((batch["place"] for batch in self.batches if batch.get("place")), self.event.get("place"))
        return tuple(place) if place else None

    @cached_property
    def order(self) -> list[int]:
        """Return the loader's indices, in the order in which they were read; [] if one is not known."""
        lists = [batch["indices"] for batch in self.batches]
        return [] if None in lists else [index for indices in lists for index in indices]

    @cached_property
    def samples(self) -> list[int]:
        """Return the root's samples, in the order in which they were read."""
        contents = self.loader.contents
        known = contents is not None and all(-len(contents) <= index < len(contents) for index in self.order)
        return [contents[index] for index in self.order] if known else []

    @cached_property
    def rows(self) -> list[int]:
        """Return the key of each row of the batches' largest tensor, as far as they are known."""
        return [key for batch in self.batches if batch.get("keys") for key in batch["keys"][0]]

    @cached_property
    def keys(self) -> dict[int, tuple]:
        """Return for each sample the keys of its rows in each tensor, as far as they are known."""
        found, at = {}, 0
        for batch in self.batches if self.samples else []:
            size, keys = len(batch["indices"]), batch.get("keys") or []
            if keys and all(len(rows) == size for rows in keys):
                found.update(zip(self.samples[at : at + size], zip(*keys, strict=True), strict=True))
            at += size
        return found


def passes(run: Run) -> list[Pass]:
    """Return all passes of all ranks."""
    return [one for rank, events in run.ranks.items() for one in passes_of(rank, events)]


def passes_of(rank: int, events: list[dict]) -> list[Pass]:
    """Return the passes of a rank."""
    loaders, found, era = {}, {}, 0
    waiting: list[Pass] = []  # whose batches have come since a model last learned, or was asked
    for event in events:
        era += event["what"] == "wrap"
        if event["what"] == "loader":
            loaders[event["loader"]] = Loader(event)
        elif event["what"] == "pass" and event["loader"] in loaders:
            found[event["run"]] = Pass(rank, loaders[event["loader"]], event, era=era)
        elif event["what"] == "batch" and event["run"] in found:
            found[event["run"]].batches.append(event)
            waiting.append(found[event["run"]])
        elif event["what"] == "passed" and event["run"] in found:
            found[event["run"]].passed = True
        elif event["what"] == "drew" and event["where"] == "fetch" and event["key"][0] in found:
            found[event["key"][0]].marks.add("random")
        elif event["what"] in ("backward", "step") or (event["what"] == "forward" and not event["grad"]):
            mark(waiting, "score" if event["what"] == "forward" else "train")
            waiting = []
    for one in found.values():
        one.phase = phase(one)
    return list(found.values())


def mark(waiting: list[Pass], use: str) -> None:
    """Mark the passes whose batches have just been used: the last of them surely, the others perhaps not."""
    others = [one for one in waiting if one is not waiting[-1]]
    for one in others:
        one.marks.add("" if not one.passed or use == "score" else "score")
    if waiting:
        waiting[-1].marks.add("" if others and waiting[-1].passed and use == "train" else use)


def phase(one: Pass) -> str:
    """Return what a pass was for."""
    if one.batches and not any(batch["grad"] for batch in one.batches):
        return "score"
    if "train" in one.marks:
        return "train"
    return ("train" if shuffled(one.order) else "") if "" in one.marks else "score"


def shuffled(order: list[int]) -> bool:
    """Tell whether an order looks drawn by lot: it does not run one way, but for an end that begins anew."""
    ups = sum(later > earlier for earlier, later in pairwise(order))
    downs = sum(later < earlier for earlier, later in pairwise(order))
    return min(ups, downs) > 1


def grouped(all_passes: list[Pass], phase: str) -> Groups:
    """Return the passes of a phase by loader, which ranks know by the line it is made at and its root, and by rank."""
    groups: Groups = {}
    for one in all_passes:
        if one.phase == phase and one.batches:
            key = one.loader.made or one.loader.loader, one.loader.root
            groups.setdefault(key, {}).setdefault(one.rank, []).append(one)
    return groups


def pairs(group: dict[int, list[Pass]]) -> Iterator[tuple[Pass, Pass]]:
    """Yield the passes that two ranks made at the same time."""
    for one, other in combinations(sorted(group), 2):
        yield from zip(group[one], group[other], strict=False)
