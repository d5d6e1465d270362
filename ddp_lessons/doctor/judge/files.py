"""Kind 5: files that several ranks write, or read before they are written; weights under the wrapper's names."""

import itertools
import os
from collections import defaultdict
from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import weights
from ddp_lessons.doctor.judge.order import Moment, moments, ordered

LESSON = "lesson6_score_and_resume"
ONE_WRITES = "let rank 0 alone do it, or put the rank into the file's name"
CODES = {
    "DDP501": Code("fault", "several ranks write one file", ONE_WRITES, LESSON),
    "DDP502": Code("suspect", "a file may be read before it is written", "put dist.barrier() before the read", LESSON),
} | weights.CODES
MOST = 40  # events of a rank and a file that are compared: more would tell nothing new
WRITES = {"write", "append", "move"}
ONLY_ONE_CAN = {"mkdir", "remove", "move", "new"}
DAMAGED = ("PytorchStreamReader", "EOFError", "UnpicklingError", "JSONDecodeError", "BadZipFile", "Truncated")


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found; where ranks never join, that is the cause, and told elsewhere."""
    if list(run.all("init")):
        touches = by_path(run)
        torn = conflicts(touches)
        yield from several_write(touches, torn)
        yield from one_failed(run, touches)
        yield from made_again(touches)
        yield from read_early(run, {path: touch for path, touch in touches.items() if path not in torn})
    yield from weights.judge(run)


def by_path(run: Run) -> dict[str, dict[int, list[tuple[Moment, dict]]]]:
    """Return for each file, and each rank, what the rank did to it, and when."""
    paths = defaultdict(lambda: defaultdict(list))
    for moment, event in moments(run, "file"):
        if len(paths[event["path"]][moment.rank]) < MOST:
            paths[event["path"]][moment.rank].append((moment, event))
    locks = {event["path"] for _, event in run.all("file") if event["did"] == "lock"}
    return {path: ranks for path, ranks in paths.items() if len(ranks) > 1 and path not in locks}


def pairs(ranks: dict, first: set[str], second: set[str]) -> Iterator[tuple[tuple, tuple]]:
    """Yield what two ranks do to a file in no order, as (moment, event) of each; the first does one of `first`."""
    for one, other in itertools.permutations(sorted(ranks), 2):
        for mine, theirs in itertools.product(ranks[one], ranks[other]):
            if mine[1]["did"] in first and theirs[1]["did"] in second and not ordered(mine[0], theirs[0]):
                yield mine, theirs


def conflicts(touches: dict) -> dict[str, list[dict]]:
    """Return for each file that several ranks write in no order the first two of those events."""
    found = {path: next(pairs(ranks, WRITES, WRITES), None) for path, ranks in touches.items()}
    return {path: [event for _, event in pair] for path, pair in found.items() if pair}


def several_write(touches: dict, torn: dict) -> Iterator[Finding]:
    """Yield a finding for each line at which several ranks write the same files."""
    lines = defaultdict(list)
    for path, events in torn.items():
        if not any(event.get("source") in torn for event in events):  # that one is the cause
            lines[tuple(events[0]["place"]), how_bad(events)].append(path)
    for (place, (grade, does, then)), paths in lines.items():
        ranks = sorted(rank for rank, done in touches[paths[0]].items() if any(e["did"] in WRITES for _, e in done))
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        text = f"ranks {', '.join(map(str, ranks))} {does} {short(paths[0])}{more}, in no order: {then}"
        yield Finding("DDP501", text, place, grade)


def how_bad(events: list[dict]) -> tuple[str, str, str]:
    """Return the grade of a conflict, what the ranks do, and what comes of it."""
    did = {event["did"] for event in events}
    if "append" in did:
        return "suspect", "add to", "their lines mix"
    if "move" in did:
        return "suspect", "each replace", "the last one's stays"
    return "fault", "write", "one overwrites the other, or tears what it writes"


def one_failed(run: Run, touches: dict) -> Iterator[Finding]:
    """Yield a finding where a rank failed to do what another had just done, as to make a folder."""
    for rank, end in run.all("end"):
        if not str(end.get("error")).startswith(("FileExistsError", "FileNotFoundError")):
            continue
        for path, ranks in touches.items():
            for (_, mine), (other, _) in pairs(ranks, ONLY_ONE_CAN, ONLY_ONE_CAN):
                if mine["place"] == end["place"] and mine in [event for _, event in ranks.get(rank, ())]:
                    did = {"mkdir": "make", "remove": "remove", "move": "replace", "new": "make"}[mine["did"]]
                    text = f"ranks {rank} and {other.rank} both {did} {short(path)}, and rank {rank} failed"
                    yield Finding("DDP501", f"{text}: {end['error'].partition(':')[0]}", tuple(mine["place"]))
                    return


def made_again(touches: dict) -> Iterator[Finding]:
    """Yield a finding for each line at which a rank removes a folder that another makes, in no order."""
    told = set()
    for path, ranks in touches.items():
        for (one, gone), (other, made) in pairs(ranks, {"remove"}, {"mkdir"}):
            if gone["exists"] and not made["exists"] and tuple(gone["place"]) not in told:
                told.add(tuple(gone["place"]))
                text = f"rank {one.rank} removes {short(path)}, which rank {other.rank} makes, in no order"
                yield Finding("DDP501", f"{text}: what is in it may be lost", tuple(gone["place"]), "suspect")


def read_early(run: Run, touches: dict) -> Iterator[Finding]:
    """Yield a finding for each line that reads a file which another rank writes, when nothing orders the two."""
    failed = {rank: end for rank, end in run.all("end") if end["how"] == "error"}
    seen = set()
    for path, ranks in touches.items():
        for (writer, _), (reader, read) in pairs(ranks, {"write", "move"}, {"read"}):
            place, history = tuple(read["place"]), ranks[reader.rank]
            if place in seen or waited(history) or any(event["did"] in WRITES for _, event in history):
                continue
            seen.add(place)
            missing, end = not read["exists"], failed.get(reader.rank, {})
            broken = end.get("place") == read["place"] and any(word in end["error"] for word in DAMAGED)
            what = "looked for" if missing else "read"
            text = f"rank {reader.rank} {what} {short(path)}, which rank {writer.rank} writes: nothing makes it wait"
            so = "; it was not there yet" if missing else "; it was not whole" if broken else ""
            yield Finding("DDP502", text + so, place, "fault" if missing or broken else "")


def waited(history: list[tuple[Moment, dict]]) -> bool:
    """Tell whether a rank tried to read a file until it was there."""
    there = [event["exists"] for _, event in history if event["did"] == "read"]
    return len(there) > 1 and not there[0] and there[-1]


def short(path: str) -> str:
    """Return a path, relative to the current folder where that is shorter."""
    return min(path, os.path.relpath(path), key=len)
