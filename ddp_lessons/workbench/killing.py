"""Send a signal to a run of a lesson's script, at a chosen moment, and see how it ends."""

import argparse
import contextlib
import functools
import os
import signal as signals
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import torch

from ddp_lessons.blocks.checkpoint import checksum, read_state
from ddp_lessons.running.processes import held_back
from ddp_lessons.workbench.launch import LaunchError, Run, check_numbers, command_of, why_it_failed
from ddp_lessons.workbench.watched import Watched


class Struck(Run):
    """The lines that a run printed which got a signal, and how it ended.

    `seconds` from the signal to the end of its last process; exit `codes` of the launcher and the ranks, None where
    nobody saw one; what they `said` on stderr; who was `left` after the time-out, and was killed then.
    """

    def __init__(self, run: Watched, left: list[str]):
        super().__init__(run.printed)
        self.seconds, self.codes, self.left = run.seconds, run.codes, left
        self.said = {"launcher": run.launcher_said(), **{f"rank {rank}": text for rank, text in run.said().items()}}


def with_signal(
    lesson: ModuleType | str,
    *options: object,
    ranks: int | None = 2,
    victim: str = "rank 1",
    signal: int = signals.SIGKILL,
    after: int | Callable[[Watched], bool] = 1,
    timeout: float = 60,
) -> Struck:
    """Run a lesson's script, send a signal to one of its processes, and return how it ended: nothing is left running.

    The `victim` is "launcher", "rank 0", "rank 1" …, or "all" of them. The moment is `after` so many checkpoints, or
    when a function of the run says so, such as `partial_is_there`; it is asked thousands of times a second.
    Prints the shell command, the lines as `launch` does, and who got the signal. With `ranks=None`: plain `python`.
    Raises LaunchError if the run ends before the signal, or if the moment does not come within `timeout` seconds.
    """
    check_numbers(options, ranks, timeout, timeout)
    victims = ["rank 0"] if ranks is None else ["launcher", *(f"rank {rank}" for rank in range(ranks)), "all"]
    if victim not in victims:
        raise LaunchError(f"nobody is called {victim!r}: there are {', '.join(victims)}")
    counted = type(after) is int and after > 0
    if not counted and not callable(after):
        raise LaunchError(f"after={after!r} is no number of checkpoints from 1, and no function of the run")
    when = f"after {after} checkpoint{'s' * (after != 1)}" if counted else f"when {after.__name__.replace('_', ' ')}"
    with watched(lesson, *options, ranks=ranks) as run:
        print(run.shown, flush=True)
        run.tell = functools.partial(print, flush=True)
        came = run.until((lambda run: len(run.written) >= after) if counted else after, timeout)
        if not came or not run.strike(victim, signal):
            reason = f": {why_it_failed(run)}" if run.process.poll() else ""
            raise LaunchError(f"the run had ended before {victim} could get a signal {when}{reason}")
        print(signals.Signals(signal).name, "to", victim, when, flush=True)
        return Struck(run, run.ended(timeout))


@contextlib.contextmanager
def watched(lesson: ModuleType | str, *options: object, ranks: int | None = 2) -> Iterator[Watched]:
    """Start a lesson's script; however the block ends, no process of it is left."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--checkpoints", default="checkpoints")
    folder = parser.parse_known_args(list(map(str, options)))[0].checkpoints
    shown, arguments = command_of(lesson, options, ranks, timeout=60)
    with held_back() as stops:
        run = Watched(arguments, folder, ranks, stops)
        run.shown = shown
        try:
            yield run
        finally:
            run.end()
        run.raise_if_stopped()


def partial_is_there(run: Watched) -> bool:
    """Tell whether rank 0 is writing a checkpoint: its temporary file is there."""
    return os.path.exists(f"{run.folder}/partial")


def seconds_into(seconds: float, training: bool = True) -> Callable[[Watched], bool]:
    """Return a function that tells whether a run is so many seconds past its first line, or its ranks' start."""
    begun = []

    def reached(run: Watched) -> bool:
        if not begun and (run.printed or not training):
            begun.append(time.monotonic())
        return bool(begun) and time.monotonic() > begun[0] + seconds

    reached.__name__ = f"{seconds:.1f} s into it"
    return reached


def unreadable(paths: list[str]) -> list[str]:
    """Return those of some checkpoints that are not whole; one that was deleted meanwhile, for a newer one, is none."""
    broken = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            content = Path(path).read_bytes()
            try:
                whole = f"-{checksum(content)}." in path and read_state(content)
            except ValueError:
                whole = False
            broken += [path] * (not whole)
    return broken


def same_state(one: object, other: object) -> bool:
    """Tell whether two states are the same, every tensor bit by bit."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_state(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_state, one, other))
    return one == other
