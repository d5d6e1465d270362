"""When a run hangs: every rank that still runs waits for others, and none of them gets on."""

import time
from pathlib import Path

from ddp_lessons.doctor.journal import last_event

STILL = 5  # seconds in which no rank notes anything, though all of them wait


def hangs(folder: Path, ranks: int) -> str:
    """Say how a run hangs that writes into a folder; nothing if it does not."""
    events = {rank: last_event(folder / f"{rank}.jsonl") for rank in range(ranks)}
    running = {rank: event for rank, event in events.items() if event.get("what") not in ("end", "left")}
    waiting = {rank: event for rank, event in running.items() if event.get("what") == "call"}
    newest = max(event.get("at", 0) for event in events.values())
    if not waiting or len(waiting) < len(running) or time.monotonic() < newest + STILL:
        return ""
    places = [f"rank {rank} waits in {event['name']}{line(event)}" for rank, event in waiting.items()]
    return "; ".join(places + [f"rank {rank} has ended" for rank in events if rank not in running])


def line(event: dict) -> str:
    """Return ", line N" for an event whose place is known."""
    return f", line {event['place'][1]}" if event.get("place") else ""
