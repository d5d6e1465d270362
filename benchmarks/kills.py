"""Lesson 6's run, killed by SIGKILL at random moments and resumed, over and over: does it end as if nobody had?

Each run is killed once: rank 0, rank 1, the launcher, all in turn, on two and on four ranks. The last checkpoint and
the saved weights are compared with those of a run that nobody killed.
"""

import argparse
import itertools
import random
import re
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch

from ddp_lessons.blocks.checkpoint import newest_checkpoint, read_state
from ddp_lessons.workbench.killing import partial_is_there, same_state, seconds_into, unreadable, watched
from ddp_lessons.workbench.launch import LaunchError
from ddp_lessons.workbench.watched import Watched

TRAINING = ["--samples", "6400", "--epochs", "2", "--checkpoint-every", "10", "--keep", "3", "--resume", "auto"]
CHECKPOINTS, KEEP, GLOBAL_BATCH = 20, 3, 64
VICTIMS, RANKS = ["rank 0", "rank 1", "launcher", "all"], [2, 4]
PATIENCE = 400  # seconds; a rank whose launcher dies before they all have met ends itself after 300


@dataclass
class Kill:
    """A run that was killed and resumed, and what came of it."""

    victim: str
    ranks: int
    moment: str  # "start", before the ranks have met; "training"; "write", of a checkpoint
    partial: bool = False  # a half-written file stayed behind
    waited: bool = False  # the folder was still in use when the run was resumed
    resumed_at: int = 0  # step
    lost: bool = False  # a checkpoint is, or the newest was passed over
    unreadable: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # processes
    identical: bool = False

    def __str__(self) -> str:
        ended = ["not identical", "bit-identical"][self.identical] + ", CHECKPOINT LOST" * self.lost
        more = ", partial left" * self.partial + ", orphans waited for" * self.waited
        return f"{self.victim} of {self.ranks} in {self.moment}{more}, resumed at step {self.resumed_at}: {ended}"


def main() -> None:
    """Kill and resume; print how each run ended, then the table and the count."""
    options = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--runs", type=int, default=100, help="how many are killed")
    options.add_argument("--seed", type=int, default=0, help="for the moments")
    args = options.parse_args()
    draw, done, counts = random.Random(args.seed), [], {"write": args.runs // 4, "start": args.runs // 20}
    moments = draw.sample(["training", *counts], args.runs, counts=[args.runs - sum(counts.values()), *counts.values()])
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends us as Ctrl-C does: in order
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        unkilled = {ranks: run_unkilled(Path(folder, f"unkilled-{ranks}"), ranks) for ranks in RANKS}
        for number, moment in enumerate(moments):
            begun, kill, struck = time.monotonic(), Kill(VICTIMS[number % 4], RANKS[number // 4 % 2], moment), False
            while not struck:  # one that is done before its moment does not count
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    struck = kill_and_resume(kill, Path(place), unkilled[kill.ranks], draw)
            done.append(kill)
            print(f"{number + 1}/{args.runs}", kill, f"({time.monotonic() - begun:.0f} s)", file=sys.stderr, flush=True)
    sys.exit(report(done))


def start(folder: Path, ranks: int):
    """Start the training, or go on with it; when its `with` block ends, nothing of it is alive."""
    files = ["--checkpoints", folder / "checkpoints", "--save", folder / "weights.pth"]
    return watched("lesson6_score_and_resume", *TRAINING, "--batch-size", GLOBAL_BATCH // ranks, *files, ranks=ranks)


def run_unkilled(folder: Path, ranks: int) -> tuple[dict, float, float]:
    """Return the end of a run that nobody kills, the seconds to its first line, and those from there to its last."""
    times = []
    with start(folder, ranks) as run:
        for lines in 0, 1, 4:
            run.until(lambda run, lines=lines: len(run.printed) >= lines, PATIENCE)
            times.append(time.monotonic())
        run.ended(PATIENCE)
    return end_of(folder), times[1] - times[0], times[2] - times[1]


def end_of(folder: Path) -> dict:
    """Return all that a run has left: the state in its last checkpoint, and its weights."""
    _, content = newest_checkpoint(str(folder / "checkpoints"))
    return {"state": read_state(content), "weights": torch.load(folder / "weights.pth", weights_only=True)}


def kill_and_resume(kill: Kill, folder: Path, unkilled: tuple, draw: random.Random) -> bool:
    """Run, kill, resume at once, and note what came of it; return False if it was done before the moment."""
    end, *spans = unkilled
    count, seconds = draw.randrange(CHECKPOINTS), draw.random() * spans[kill.moment == "training"]
    in_write = lambda run: len(run.written) >= count and partial_is_there(run)
    reached = in_write if kill.moment == "write" else seconds_into(seconds, training=kill.moment == "training")
    with start(folder, kill.ranks) as run:
        if not run.until(reached, PATIENCE) or not run.strike(kill.victim):
            return False
        kill.unreadable = unreadable(run.there)
        good = resume(kill, folder, run)
    kill.unreadable += folder.glob("checkpoints/*.damaged")
    kill.identical = good and same_state(end_of(folder), end)
    return True


def resume(kill: Kill, folder: Path, run: Watched) -> bool:
    """Go on, note from where, what was lost, and who lives on; tell whether it ended well."""
    with start(folder, kill.ranks) as again:
        again.until(lambda again: re.search("(^|\n)(resumed|epoch)", "\n".join(again.printed)), PATIENCE)
        found = re.search(r"resumed at step (\d+)", said := "\n".join(again.printed))
        kill.waited, kill.partial = "in use by" in said, partial_is_there(again)
        kill.resumed_at = int(found[1]) if found else 0
        there = again.there if found else run.there  # at once, before there are new ones
        kept = sorted({*run.there, *there})[-KEEP:]
        newest = f"-steps-{kill.resumed_at:09d}-" in kept[-1] if kept else not found
        kill.lost = not (newest and set(kept) <= set(there))
        kill.unreadable += unreadable(there)
        kill.left = again.ended(PATIENCE) + run.ended(PATIENCE)
        if again.codes["launcher"]:
            print(again.launcher_said(), *again.said().values(), file=sys.stderr)
        return again.codes["launcher"] == 0


def report(done: list[Kill]) -> int:
    """Print a row for each victim and number of ranks, and what all come to; return 0 if all is well, else 1."""
    print("| killed | ranks | runs | resumed at | partial left | waited | bit-identical |", "|-" * 7 + "|", sep="\n")
    for ranks, victim in itertools.product(RANKS, VICTIMS):
        if runs := [kill for kill in done if (kill.ranks, kill.victim) == (ranks, victim)]:
            steps = [kill.resumed_at for kill in runs]
            sums = [sum(getattr(kill, name) for kill in runs) for name in ("partial", "waited", "identical")]
            print("|", " | ".join(map(str, [victim, ranks, len(runs), f"{min(steps)} to {max(steps)}", *sums])), "|")
    same, lost = sum(kill.identical for kill in done), sum(kill.lost for kill in done)
    broken, left = sum(len(kill.unreadable) for kill in done), sum(len(kill.left) for kill in done)
    print(f"{same} of {len(done)} ended bit-identical; checkpoints unreadable: {broken}; lost: {lost}", end="; ")
    print(f"processes left: {left}")
    return int(same < len(done) or lost + broken + left > 0)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, LaunchError) as error:
        sys.exit(str(error) or "interrupted")
