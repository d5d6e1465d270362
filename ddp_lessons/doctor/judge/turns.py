"""Whether ranks take turns at the batches of a loader that hands all of them to each: what is read is not all used."""

from collections import Counter
from dataclasses import replace

from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.reads import Groups, Pass

Learned = dict[tuple[int, int], frozenset[int]]  # (rank, pass) → the numbers of the batches that a model learned from


def dealt(run: Run, groups: Groups) -> Groups:
    """Return the passes of training; where ranks take turns at the batches, each pass with the rank's own only."""
    learned = {(rank, one): frozenset(at) for rank in run.ranks for one, at in learned_of(run.ranks[rank]).items()}
    return {key: {rank: own(group, rank, learned) for rank in group} for key, group in groups.items()}


def learned_of(events: list[dict]) -> dict[int, set[int]]:
    """Return for each pass of a rank the batches after which, and before the next, a model learned."""
    loaders, under_way, over, read = {}, [], set(), Counter()
    found: dict[int, set[int]] = {}
    for event in events:
        if event["what"] == "pass":
            loaders[event["run"]] = event["loader"]
        elif event["what"] == "passed":
            over.add(event["run"])
        elif event["what"] == "batch":
            now = event["run"]
            read[now] += 1
            under_way = [one for one in under_way if one not in over and loaders.get(one) != loaders.get(now)] + [now]
        elif event["what"] == "backward" or (event["what"] == "forward" and event["grad"]):
            for one in under_way:
                found.setdefault(one, set()).add(read[one] - 1)
    return found


def own(group: dict[int, list[Pass]], rank: int, learned: Learned) -> list[Pass]:
    """Return a rank's passes, with its own batches only where ranks take turns."""
    at_once = [[passes[at] for passes in group.values() if at < len(passes)] for at in range(len(group[rank]))]
    pairs = zip(group[rank], at_once, strict=True)
    return [part(one, numbers(one, learned)) if take_turns(others, learned) else one for one, others in pairs]


def numbers(one: Pass, learned: Learned) -> frozenset[int]:
    """Return the numbers of the batches of a pass that a model learned from."""
    return learned.get((one.rank, one.event["run"]), frozenset())


def part(one: Pass, kept: frozenset[int]) -> Pass:
    """Return a pass with some of its batches only."""
    batches = [batch for at, batch in enumerate(one.batches) if at in kept]
    return replace(one, batches=batches, passed=one.complete, dealt=True)


def take_turns(passes: list[Pass], learned: Learned) -> bool:
    """Tell whether ranks share out what a loader hands to all of them: each batch's number is one rank's, or group's.

    A loop that fetches ahead, or that puts batches together, is the same on all ranks, and is not this.
    """
    parts = {numbers(one, learned) for one in passes}
    union = frozenset().union(*parts)
    every = max(len(one.batches) for one in passes)
    apart = len(parts) > 1 and sum(map(len, parts)) == len(union)
    return apart and min(map(len, parts)) > 1 and len(union) > every - len(parts)
