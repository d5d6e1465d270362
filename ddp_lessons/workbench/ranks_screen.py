"""What ranks print and show in a cell, on the notebook's page, and what is said of it at the end."""

import re
import sys
import time

from IPython.display import publish_display_data

from ddp_lessons.workbench.ranks_in_cells import GRACE, Cell, World

SETTLE = 1  # seconds from the first failure to its traceback: who fails of the same cause is shown with it


def named(ranks: list[int]) -> str:
    """Return ranks in words: "rank 1", "ranks 0 and 1", "ranks 0, 1 and 3"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def clause(ranks: list[int], what: str) -> str:
    """Return what ranks do: `clause([0, 1], "waits in barrier")` is "ranks 0 and 1 wait in barrier"."""
    verb, _, rest = what.partition(" ")
    if len(ranks) > 1:
        verb = {"waits": "wait", "is": "are", "has": "have", "does": "do"}.get(verb, verb)
    return " ".join(filter(None, [named(ranks), verb, rest]))


class Page:
    """What one rank prints and shows: its first line after its label, the others indented under it."""

    def __init__(self, label: str):
        self.label = label
        self.last = {"stdout": "", "stderr": ""}  # the last character written, "" before a label

    def hear(self, kind: str, content: dict) -> None:
        """Print or show what a message brings."""
        if kind == "stream":
            self.write(content["text"], content["name"])
        elif list(content.get("data", {})) == ["text/plain"]:
            self.write(content["data"]["text/plain"] + "\n")
        elif "data" in content:
            self.show(kind, content)

    def write(self, text: str, stream: str = "stdout") -> None:
        """Print text, on stdout or stderr."""
        margin = "\n" + " " * len(self.label)
        lead = {"": self.label, "\n": margin[1:] * (not text.startswith("\n"))}.get(self.last[stream], "")
        print(lead + re.sub(r"\n(?=[^\n])", margin, text), end="", file=getattr(sys, stream))
        self.last[stream] = text[-1:] or self.last[stream]

    def show(self, kind: str, content: dict) -> None:
        """Display a picture, a table, or whatever else is more than text."""
        self.close()
        if self.label:
            print(self.label.rstrip())
        more = {"transient": content.get("transient"), "update": kind == "update_display_data"}
        publish_display_data(content["data"], content["metadata"], **more)

    def close(self) -> None:
        """End the last line. What comes next has a label again."""
        for stream, last in self.last.items():
            if last not in ("", "\n"):
                print(file=getattr(sys, stream))
            self.last[stream] = ""


class Screen:
    """What ranks print and show in one cell: one rank's live, the others' after it, in rank order."""

    def __init__(self, world_size: int, live: int = 0):
        self.live = live
        width = len(str(world_size - 1))
        labels = [f"rank {rank:{width}}: " if world_size > 1 else "" for rank in range(world_size)]
        self.pages = [Page(label) for label in labels]
        self.waiting: list[list[tuple[str, dict]]] = [[] for _ in labels]
        self.failures: dict[int, str] = {}  # tracebacks not shown yet
        self.failed_at = 0.0

    def hear(self, rank: int | None, kind: str, content: dict) -> None:
        """Take a message of a rank, or a tick of the clock."""
        if kind == "error":
            self.failed_at = self.failed_at if self.failures else time.monotonic()
            self.failures[rank] = "\n".join(content["traceback"])
        elif kind == "tick" and self.failures and time.monotonic() > self.failed_at + SETTLE:
            self.show_failures()
        elif rank == self.live:
            self.pages[rank].hear(kind, content)
        elif rank is not None:
            self.waiting[rank].append((kind, content))

    def show_failures(self) -> None:
        """Print the tracebacks that have come, equal ones once, after what those ranks printed."""
        self.pages[self.live].close()
        failures, self.failures = dict(sorted(self.failures.items())), {}
        for rank in failures:
            self.turn(rank)
        for text in dict.fromkeys(failures.values()):
            ranks = [rank for rank in failures if failures[rank] == text]
            print(f"{named(ranks)} failed:\n{text}")
            if "EADDRINUSE" in text:
                print("MASTER_PORT is taken: %ranks stop, then the cell again, takes another.")

    def turn(self, rank: int) -> None:
        """Show what a rank has to show until now."""
        waiting, self.waiting[rank] = self.waiting[rank], []
        for kind, content in waiting:
            self.pages[rank].hear(kind, content)
        self.pages[rank].close()

    def close(self) -> None:
        """Show all that is left."""
        if self.failures:
            self.show_failures()
        for rank in range(len(self.pages)):
            self.turn(rank)


def what_went_wrong(world: World, cell: Cell, late: dict[int, str], stopped: bool) -> str:
    """Return a sentence about the cell that has just ended, or "" if it succeeded on all ranks."""
    causes = ["interrupted"] if stopped else []
    for state, verb in [("gone", "has ended"), ("failed", "failed")]:
        if ranks := [rank for rank in world.which(state) if rank not in late]:
            causes.append(clause(ranks, verb))
    cause = " and ".join(causes)
    if late:
        when = f"after {cell.timeout:g} s,"
        if causes:
            when = ", while" if stopped else f", and {GRACE} s later"
        cause += f"{when} {who_waits(world, cell, late)}"
    lives = "the ranks live on, with their variables"
    ended = "all ranks were ended, and the next %%ranks starts fresh ones, without variables"
    return cause and f"{cause[0].upper()}{cause[1:]}: {lives if world.fit else ended}."


def who_waits(world: World, cell: Cell, late: dict[int, str]) -> str:
    """Return, for instance, "rank 0 waits in broadcast, cell line 4; ranks 1 and 2 are done with the cell"."""
    places = {}
    for rank, place in late.items():
        places.setdefault(place, []).append(rank)
    others = [rank.rank for rank in world.ranks if not (rank.rank in late or rank.gone or rank.failed)]
    for rank in others:
        places.setdefault("is done with the cell" if rank in cell.ranks else "is left out", []).append(rank)
    return "; ".join(clause(ranks, place) for place, ranks in places.items())
