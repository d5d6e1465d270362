"""The exercises on messages: broadcast, all-reduce and the ring, from nothing but send and recv."""

from math import ceil

from ddp_lessons.workbench.exercises.exercise import same, with_hint
from ddp_lessons.workbench.exercises.in_place import InPlace
from ddp_lessons.workbench.exercises.listen import messages

NUMBER = 8  # bytes of a float64
AVERAGE = "that is the average: the sum is asked for"
PARTS = "cut the tensor into N parts: a message of a ring carries one of them"


def total(starts: list[list[float]]) -> list[float]:
    """Return the sum over ranks."""
    return [sum(numbers) for numbers in zip(*starts, strict=True)]


def broadcast_mistakes(starts: list, outputs: list[dict], wanted: list) -> dict[str, bool]:
    """Return hints for a broadcast."""
    source, has = outputs[0]["source"][0], [output["has"] for output in outputs]
    return {
        "these are rank 0's numbers, and another rank was the source": all(same(h, starts[0]) for h in has),
        "the source has lost its own numbers: who sends, and who receives?": not same(has[source], wanted),
        "some ranks were left out": any(same(h, wanted) for rank, h in enumerate(has) if rank != source),
    }


def sum_mistakes(starts: list, outputs: list[dict], wanted: list) -> dict[str, bool]:
    """Return hints for an all-reduce, of whatever kind."""
    has, ranks = [output["has"] for output in outputs], range(len(outputs))
    right = [same(h, wanted) for h in has]
    return {
        "something was counted more than once: does a rank send on what it has already added to? "
        "Until its isend has been waited for, a tensor must stay as it is": too_large(has, wanted),
        AVERAGE: averaged(has, wanted),
        f"rank {right.index(True) if any(right) else 0} alone has the sum, and all must have it": sum(right) == 1,
        "the rank's own numbers are missing in it: what comes is to be added to them, and not to replace them": (
            all(same(total([has[r], starts[r]]), wanted) for r in ranks) or all(h in starts for h in has)
        ),
    }


def too_large(has: list, wanted: list) -> bool:
    """Tell whether a number on some rank is larger than the sum."""
    return any(h > w for numbers in has for h, w in zip(numbers, wanted, strict=True))


def averaged(has: list, wanted: list) -> bool:
    """Tell whether all ranks have the average."""
    return all(same(numbers, [w / len(has) for w in wanted]) for numbers in has)


def left_in_part(starts: list, has: list, wanted: list) -> bool:
    """Tell whether each number on each rank is the sum or what the rank began with, and both are there."""
    triples = [triple for rank, numbers in enumerate(has) for triple in zip(numbers, starts[rank], wanted, strict=True)]
    as_it_was = [h == s for h, s, _ in triples]
    return all(h in (s, w) for h, s, w in triples) and any(as_it_was) and not all(as_it_was)


def unfinished(numbers: tuple, starts: tuple) -> bool:
    """Tell whether the numbers, one from each rank, are sums over ranks that follow each other: over some, or all."""
    ring = starts * 2  # after the last rank comes rank 0
    lengths = range(1, len(starts) + 1)
    return set(numbers) <= {sum(ring[first : first + n]) for first in range(len(starts)) for n in lengths}


def ring_mistakes(starts: list, outputs: list[dict], wanted: list) -> dict[str, bool]:
    """Return hints for a ring."""
    has, world_size = [output["has"] for output in outputs], len(outputs)
    sent = {len(messages(output["heard"], "send")) for output in outputs}
    even = len(wanted) // world_size * world_size  # so many numbers divide evenly
    both_rounds = sent == {2 * (world_size - 1)}
    largest = max([said["bytes"] for output in outputs for said in output["heard"]], default=0)
    return {
        PARTS: largest > ceil(len(wanted) / world_size) * NUMBER,
        "the last numbers were left out: this length does not divide by the number of ranks": (
            even < len(wanted) and all(same(h[:even], wanted[:even]) for h in has)
        ),
        "after N-1 steps each rank has one finished part: the finished parts must go round as well": (
            sent == {world_size - 1}
        ),
        "in the second round finished parts arrive: they replace what is there, and are not added to it": (
            too_large(has, wanted)
        ),
        AVERAGE: averaged(has, wanted),
        "some parts of the tensor are as they were: `parts[i] = …` puts another tensor into your list. "
        "`parts[i] += …` and `parts[i].copy_(…)` change the caller's": (
            both_rounds and left_in_part(starts, has, wanted)
        ),
        "the second round must begin with the part that is finished: which is that, on rank 0, after N-1 steps?": (
            both_rounds and all(map(unfinished, zip(*has, strict=True), zip(*starts, strict=True)))
        ),
    }


def ring_fault(length: int, outputs: list[dict]) -> str:
    """Return what is wrong with the messages of a ring with the right sums, "" if nothing is."""
    world_size = len(outputs)
    part = ceil(length / world_size) * NUMBER
    bound = 2 * (world_size - 1) * part
    for rank, output in enumerate(outputs):
        for call, done, whom in [("send", "sent", "to"), ("recv", "received", "from")]:
            sizes = [message["bytes"] for message in messages(output["heard"], call)]
            partners = {message["partner"] for message in messages(output["heard"], call)}
            said = f"the sums are right, but of a tensor of {length * NUMBER} bytes rank {rank} {done}"
            if max(sizes) > part:
                return with_hint(f"{said} {max(sizes)} in one message; a part has {part}", PARTS)
            if sum(sizes) > bound:
                hint = "a part goes round twice: once to be summed, once to be handed out"
                return with_hint(f"{said} {sum(sizes)} in all; {bound} are enough", hint)
            if len(partners) > 1:
                hint = "in a ring a rank sends to one neighbour only, and receives from the other only"
                return with_hint(f"{said} {whom} {len(partners)} ranks", hint)
    return ""


EXERCISES = {
    judge.name: judge.exercise()
    for judge in (
        InPlace("my_broadcast", lambda starts, source: starts[source], broadcast_mistakes, from_each=True),
        InPlace("my_all_reduce", total, sum_mistakes),
        InPlace("my_ring_all_reduce", total, ring_mistakes, in_parts=True, fault=ring_fault),
    )
}
