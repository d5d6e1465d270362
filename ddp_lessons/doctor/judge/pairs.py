"""Messages between two ranks: each that is sent has to be received, and is as long as expected."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Finding
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.calls import PAIRS, Call, Difference, at, excused, open_call, size, unlike

Channel = tuple  # (from, to, tag, group)


def channels(run: Run) -> tuple[dict[Channel, list[Call]], dict[Channel, list[Call]]]:
    """Return the calls that send, and those that receive, of each channel; from None, where it is from any."""
    sent: dict[Channel, list[Call]] = {}
    received: dict[Channel, list[Call]] = {}
    for rank, event in run.all("call"):
        if event["name"] in PAIRS:
            sends = "send" in event["name"]
            way = (rank, event.get("dst")) if sends else (event.get("src"), rank)
            side = sent if sends else received
            side.setdefault((*way, event.get("tag", 0), event.get("pg")), []).append(Call(rank, event))
    return sent, received


def unmatched(run: Run) -> Iterator[tuple[Call, str]]:
    """Yield each first call of a channel that its other side does not answer, and what is missing."""
    sent, received = channels(run)
    for way in sorted({*sent, *received}, key=str):
        source, to = way[:2]
        if excused_any(run, way) or any(key[0] is None and key[1] == to for key in received):
            continue  # who receives from any may have taken it
        sends, receives = sent.get(way, []), received.get(way, [])
        if len(sends) > len(receives):
            yield sends[len(receives)], f"rank {source} sends to rank {to}, which does not receive it"
        elif len(receives) > len(sends):
            yield receives[len(sends)], f"rank {to} receives from rank {source}, which does not send it"


def excused_any(run: Run, way: Channel) -> bool:
    """Tell whether an end of a channel stopped for a reason of its own, or is none of the ranks."""
    return any(rank is not None and (rank not in run.ranks or excused(run, rank)) for rank in way[:2])


def mismatch(run: Run) -> Finding | None:
    """Return the first message that nobody waits for, or that nobody sends."""
    found = sorted(unmatched(run), key=lambda one: ("send" in one[0].name, one[0].event["at"]))  # who waits, first
    if not found:
        return None
    call, text = found[0]
    waits = [f"rank {rank} waits in {one.said()}" for rank in run.ranks if run.hang and (one := open_call(run, rank))]
    return Finding("DDP306", "; ".join([f"{text}{at(call.place)}", *waits]), call.place)


def misfits(run: Run) -> Iterator[Finding]:
    """Yield messages that are shorter or longer, or of another type, than what is to receive them."""
    sent, received = channels(run)
    for way in sent.keys() & received.keys():
        for send, receive in zip(sent[way], received[way], strict=False):
            if size(send) != size(receive) or send.event.get("dtype") != receive.event.get("dtype"):
                yield Finding(
                    "DDP302", f"rank {way[0]}: {send.said()}; but rank {way[1]}: {receive.said()}", receive.place
                )
                break


def comes_first(run: Run, found: Difference) -> bool:
    """Tell whether a message that is not answered explains why ranks do not come to a call of a group."""
    there = [call for call in found.at_index().values() if call]
    return not unlike(there) and mismatch(run) is not None
