"""Lesson 6's run, killed by SIGKILL at random moments and resumed, over and over: does it end as if nobody had?

Each run is killed once: rank 0, rank 1, the launcher, all in turn, on two and on four ranks. The last checkpoint and
the saved weights are compared with those of a run that nobody killed.
"""

import argparse
import glob
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
    moment: str = ""
    partial: bool = False  # a half-written file stayed behind
    waited: bool = False  # the folder was still in use when the run was resumed
    resumed_at: int = 0  # step
    lost: bool = False  # a checkpoint, or the run did not go on from the newest
    unreadable: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # processes
    identical: bool = False

    def __str__(self) -> str:
        ended = ["not identical", "bit-identical"][self.identical] + ", CHECKPOINT LOST" * self.lost
        more = " and left partial" * self.partial + ", waited for orphans" * self.waited
        return f"{self.victim} of {self.ranks} {self.moment}{more}, resumed at step {self.resumed_at}: {ended}"


def main() -> None:
    """Kill and resume; print how each run ended, then the table and the count."""
    options = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--runs", type=int, default=100, help="how many are killed")
    options.add_argument("--seed", type=int, default=0, help="for the moments")
    args = options.parse_args()
    draw, done = random.Random(args.seed), []
    moments = ["partial"] * (args.runs // 4) + ["start"] * (args.runs // 20)
    moments += ["training"] * (args.runs - len(moments))
    draw.shuffle(moments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends us as Ctrl-C does: in order
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        unkilled = {ranks: run_unkilled(Path(folder, f"unkilled-{ranks}"), ranks) for ranks in RANKS}
        for number, moment in enumerate(moments):
            begun, kill, ranks = time.monotonic(), None, RANKS[number // 4 % 2]
            while not kill:  # one that is done before its moment does not count
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    kill = killed(Path(place), Kill(VICTIMS[number % 4], ranks), moment, unkilled[ranks], draw)
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
        for lines in 0, 1, 3:
            run.until(lambda run, lines=lines: len(run.printed) >= lines, PATIENCE)
            times.append(time.monotonic())
        run.ended(PATIENCE)
    return end_of(folder), times[1] - times[0], times[2] - times[1]


def end_of(folder: Path) -> dict:
    """Return all that a run has left: the state in its last checkpoint, and its weights."""
    weights = torch.load(folder / "weights.pth", weights_only=True)
    return {"state": read_state(newest_checkpoint(str(folder / "checkpoints"))[1]), "weights": weights}


def killed(folder: Path, kill: Kill, moment: str, unkilled: tuple, draw: random.Random) -> Kill | None:
    """Run, kill, resume at once, to the end; return what came of it, or None if it was done before the moment."""
    end, to_first_line, to_last_line = unkilled
    count, share = draw.randrange(CHECKPOINTS), draw.random()
    seconds = share * (to_first_line if moment == "start" else to_last_line)
    reached = seconds_into(seconds, training=moment == "training")
    kill.moment = f"{seconds:.1f} s into its {moment}"
    if moment == "partial":
        kill.moment, reached = f"in write {count + 1}", lambda run: len(run.written) >= count and partial_is_there(run)
    with start(folder, kill.ranks) as run:
        if not run.until(reached, PATIENCE) or not run.strike(kill.victim):
            return None
        kill.unreadable = unreadable(run.there)
        good = resumed(folder, kill, run)
    kill.unreadable += glob.glob(f"{folder}/checkpoints/*.damaged")
    kill.identical = good and same_state(end_of(folder), end)
    return kill


def resumed(folder: Path, kill: Kill, run: Watched) -> bool:
    """Go on, note from where, what was lost, and who lives on; tell whether it ended well."""
    with start(folder, kill.ranks) as again:
        again.until(lambda again: re.search("(^|\n)(resumed|epoch)", "\n".join(again.printed)), PATIENCE)
        said = "\n".join(again.printed)
        kill.waited, found = "in use by" in said, re.search(r"resumed at step (\d+)", said)
        kill.resumed_at = int(found[1]) if found else 0
        there = again.there if found else run.there  # at once, before there are new ones
        kept = sorted({*run.there, *there})[-KEEP:]
        newest = f"-steps-{kill.resumed_at:09d}-" in kept[-1] if kept else not found
        kill.lost = not (newest and set(kept) <= set(there))
        kill.partial = partial_is_there(again)
        kill.unreadable += unreadable(there)
        kill.left = again.ended(PATIENCE) + run.ended(PATIENCE)
        if again.codes["launcher"]:
            print(again.said(), file=sys.stderr)
        return again.codes["launcher"] == 0


def report(done: list[Kill]) -> int:
    """Print a row for each victim and number of ranks, and what all come to; return 0 if all is well, else 1."""
    print("| killed | ranks | runs | left partial | waited | resumed at steps | bit-identical |\n|-|-|-|-|-|-|-|")
    for ranks, victim in ((ranks, victim) for ranks in RANKS for victim in VICTIMS):
        if runs := [kill for kill in done if (kill.ranks, kill.victim) == (ranks, victim)]:
            steps = [kill.resumed_at for kill in runs]
            sums = [sum(getattr(kill, name) for kill in runs) for name in ("partial", "waited")]
            same = sum(kill.identical for kill in runs)
            print("", victim, ranks, len(runs), *sums, f"{min(steps)} to {max(steps)}", same, "", sep=" | ")
    same, lost = (sum(getattr(kill, name) for kill in done) for name in ("identical", "lost"))
    broken, left = (sum(len(getattr(kill, name)) for kill in done) for name in ("unreadable", "left"))
    print(f"{same} of {len(done)} ended bit-identical; ", end="")
    print(f"checkpoints unreadable: {broken}; lost: {lost}; processes left: {left}")
    return int(same < len(done) or lost + broken + left > 0)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, LaunchError) as error:
        sys.exit(str(error) or "interrupted")
