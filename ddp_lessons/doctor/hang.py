"""When a run hangs: every rank that still runs waits for others, none computes, and none of them gets on."""

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

STILL = 5  # idle seconds, though the ranks wait at different calls, or one has ended
LONG = 30  # idle seconds, though all wait in the same call
IDLE = 0.05  # of a core: a waiting rank stays under it, though gloo's own thread looks around now and then
TAIL = 1 << 16  # bytes of a rank's file in which its last call is looked for


@dataclass
class Look:
    """What the last look at a run saw, and since when nothing has changed."""

    sizes: list[int] = field(default_factory=list)
    computed: float = 0
    since: float = 0
    processes: dict[int, psutil.Process | None] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)  # the ranks whose process had ended when it was first looked for


looks: dict[Path, Look] = {}


def hangs(folder: Path, ranks: int) -> str:
    """Say how a run hangs that writes into a folder; nothing if it does not. Ask a few times a second."""
    files, look = [folder / f"{rank}.jsonl" for rank in range(ranks)], looks.setdefault(folder, Look())
    sizes, now = [file.stat().st_size if file.exists() else 0 for file in files], time.monotonic()
    computed = sum(cpu(process_of(look, file, rank)) for rank, file in enumerate(files))
    if sizes != look.sizes or computed - look.computed > IDLE * (now - look.since) * ranks + IDLE:
        look.sizes, look.computed, look.since = sizes, computed, now
    if now < look.since + STILL or not all(sizes):
        return ""
    events = {rank: list(tail(file)) for rank, file in enumerate(files)}
    left = look.gone | {rank for rank in events if has_ended(events[rank], look.processes.get(rank))}
    running = {rank: those for rank, those in events.items() if rank not in left}
    calls = {rank: open_call(those) for rank, those in running.items()}
    limited = any(event.get("how") == "limit" for those in events.values() for event in those)
    if not calls or limited or not all(calls.values()):
        return ""
    alike = len(calls) == ranks and len({meeting(call) for call in calls.values()}) == 1
    return tell(calls, ranks) if not alike or now > look.since + LONG else ""


def tell(calls: dict[int, dict], ranks: int) -> str:
    """Say where each rank waits, or that it has ended."""
    places = [f"rank {rank} waits in {call['name']}{line(call)}" for rank, call in calls.items()]
    return "; ".join(places + [f"rank {rank} has ended" for rank in range(ranks) if rank not in calls])


def tail(file: Path) -> Iterator[dict]:
    """Yield the last events in a rank's file."""
    with open(file, "rb") as lines:
        lines.seek(max(0, lines.seek(0, 2) - TAIL))
        for text in lines.read().split(b"\n"):
            with contextlib.suppress(ValueError):
                yield json.loads(text)


def open_call(events: list[dict]) -> dict | None:
    """Return the last call that has not come back; a wait becomes the call that it waits for."""
    done = {event["number"] for event in events if event["what"] == "done"}
    calls = {event["number"]: event for event in events if event["what"] == "call"}
    waiting = [event for number, event in calls.items() if number not in done and not event.get("thread")]
    if not waiting:
        return None
    return calls.get(waiting[-1].get("of"), {}) | waiting[-1] if waiting[-1]["name"] == "wait" else waiting[-1]


def meeting(call: dict) -> tuple:
    """Return what is equal for the calls of all ranks that wait for each other; never for pairs of ranks."""
    about = [str(call.get(key)) for key in ("models", "shape", "dtype", "op", "src", "dst")]
    return call.get("pg"), call.get("turn", call["at"]), call["name"], *about


def has_ended(events: list[dict], process: psutil.Process | None) -> bool:
    """Tell whether a rank has ended, by its events or because its process is gone."""
    if any(event["what"] in ("end", "left") for event in events):
        return True
    try:
        return bool(process) and process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def process_of(look: Look, file: Path, rank: int) -> psutil.Process | None:
    """Return a rank's process, which its first event names."""
    if look.processes.get(rank) is None and file.exists():
        try:
            with contextlib.suppress(ValueError, KeyError), open(file, "rb") as lines:
                look.processes[rank] = psutil.Process(json.loads(lines.readline())["process"])
        except psutil.NoSuchProcess:
            look.gone.add(rank)
    return look.processes.get(rank)


def cpu(process: psutil.Process | None) -> float:
    """Return the seconds that a process has computed."""
    with contextlib.suppress(psutil.Error, AttributeError):
        return sum(process.cpu_times()[:2])
    return 0.0


def line(event: dict) -> str:
    """Return ", line N" for an event whose place is known."""
    return f", line {event['place'][1]}" if event.get("place") else ""
