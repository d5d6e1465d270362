"""A run of lesson 6 that is killed, stopped or locked out; `benchmarks/kills.py` kills a hundred."""

import functools
import os
import re
import signal
import socket
from pathlib import Path

import pytest
import torch
from ranks import gone, run_script
from slow import slow

from ddp_lessons.blocks.checkpoint import checkpoints, newest_checkpoint, read_state
from ddp_lessons.workbench.killing import partial_is_there, same_state, unreadable, watched, with_signal
from ddp_lessons.workbench.launch import LaunchError
from ddp_lessons.workbench.scripts import ROOT

LESSON = "lesson6_score_and_resume"
TRAINING = ["--samples", "6400", "--epochs", "2", "--checkpoint-every", "10", "--resume", "auto"]


def options(folder: Path, ranks: int | None) -> list[str]:
    """Return the command line of a training in `folder`, of 200 steps and 20 checkpoints, whatever the ranks."""
    files = ["--data", ROOT / "data", "--checkpoints", folder / "checkpoints", "--save", folder / "weights.pth"]
    return [*TRAINING, "--batch-size", str(64 // (ranks or 1)), *map(str, files)]


def resume(folder: Path, ranks: int | None) -> str:
    """Begin a training, or go on with it, to its end; return what it printed. Ranks are forked: torchrun is slow."""
    return "".join(run_script(ROOT / "scripts" / f"{LESSON}.py", *options(folder, ranks), folder=folder, ranks=ranks))


def end_of(folder: Path) -> dict:
    """Return all that a training has left: the state in its last checkpoint, and its weights."""
    assert not unreadable(checkpoints(folder / "checkpoints"))
    state = read_state(newest_checkpoint(folder / "checkpoints")[1])
    return {"state": state, "weights": torch.load(folder / "weights.pth", weights_only=True)}


@pytest.fixture(scope="module")
def unkilled(tmp_path_factory):
    """Return the end of a training on some ranks that nobody has killed."""

    @functools.cache
    def unkilled(ranks):
        folder = tmp_path_factory.mktemp("unkilled")
        assert "resumed" not in resume(folder, ranks)
        return end_of(folder)

    return unkilled


def saved_at(line: str) -> str:
    """Return what a run will print that goes on from where this line tells of."""
    step = re.fullmatch(r"saved at step (\d+), and stopped: --resume auto goes on", line)[1]
    return f"resumed at step {step}, written by 2 ranks, with 64 samples a step"


def a_file_is_half_written(run):
    return len(run.written) >= 5 and partial_is_there(run)


@pytest.mark.parametrize(
    ("ranks", "victim", "after"),
    [
        (2, "rank 0", a_file_is_half_written),
        slow(None, "rank 0", 8),
        slow(2, "rank 1", 10),
        slow(2, "all", 12),
        slow(4, "rank 1", 6),
    ],
)
def test_a_killed_run_is_resumed_and_ends_as_one_that_was_not_killed(ranks, victim, after, tmp_path, unkilled, mark):
    run = with_signal(LESSON, *options(tmp_path, ranks), ranks=ranks, victim=victim, after=after)
    assert run.left == [] and gone(mark)
    assert run.codes["rank 0" if victim == "all" else victim] in (-signal.SIGKILL, None)
    assert "resumed at step" in resume(tmp_path, ranks)
    assert same_state(end_of(tmp_path), unkilled(ranks))


@pytest.mark.slow
def test_orphans_of_a_killed_launcher_save_and_stop_and_a_resume_waits_for_them(tmp_path, unkilled, mark):
    with watched(LESSON, *options(tmp_path, 2)) as run:
        assert run.until(lambda run: len(run.written) == 4)
        run.strike("rank 0", signal.SIGSTOP)  # or it would have ended before the other is there
        run.strike("launcher")
        with watched(LESSON, *options(tmp_path, 2)) as again:
            assert again.until(lambda again: len(again.printed) == 2)
            run.strike("rank 0", signal.SIGCONT)
            assert again.ended() == run.ended() == [] and again.codes["launcher"] == 0
    assert gone(mark)
    assert not run.said()[0] + run.said()[1] and {run.codes["rank 0"], run.codes["rank 1"]} <= {0, None}
    owner = f"{run.named['rank 0'].pid} on {socket.gethostname()}"
    assert again.printed[1] == f"{tmp_path}/checkpoints is in use by process {owner}: waiting up to 10 s for its end"
    assert saved_at(run.printed[-1]) in again.printed[2]
    assert same_state(end_of(tmp_path), unkilled(2))


@pytest.mark.slow
def test_a_second_run_in_a_folder_is_refused_and_one_rank_that_is_asked_to_stop_stops_all(tmp_path, mark):
    long = [*options(tmp_path, 2), "--epochs", "1000"]
    with watched(LESSON, *long) as run:
        assert run.until(lambda run: len(run.written) > 1)
        with watched(LESSON, *options(tmp_path, None), "--epochs", "1000", ranks=None) as second:
            assert second.ended() == [] and second.codes["rank 0"] == 1
        written = len(run.written)
        assert run.until(lambda run: len(run.written) > written) and run.strike("rank 1", signal.SIGTERM)
        assert run.ended() == [] and gone(mark)
    owner = f"{run.named['rank 0'].pid} on {socket.gethostname()}"
    refusal = f"{tmp_path}/checkpoints is in use by process {owner}: end that, or give another folder\n"
    assert second.launcher_said() == refusal and len(second.printed) == 2
    assert run.codes["launcher"] == 0 and {run.codes["rank 0"], run.codes["rank 1"]} <= {0, None}
    assert saved_at(run.printed[-1]) and not run.said()[0] + run.said()[1]


@pytest.mark.slow  # lesson 6 does it with SIGTERM
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_torchrun_that_gets_a_signal_passes_it_on_and_all_ranks_save_and_exit_0(number, tmp_path, unkilled, mark):
    run = with_signal(LESSON, *options(tmp_path, 2), victim="launcher", signal=number, after=5)
    assert run.left == [] and gone(mark)
    assert not run.said["rank 0"] + run.said["rank 1"] and {run.codes["rank 0"], run.codes["rank 1"]} <= {0, None}
    assert run.codes["launcher"] == 1 and "SignalException" in run.said["launcher"]
    assert saved_at(run[-1]) in resume(tmp_path, 2)
    assert same_state(end_of(tmp_path), unkilled(2))


def test_what_does_not_end_is_named_and_a_press_of_the_stop_button_ends_it(tmp_path, mark):
    with pytest.raises(LaunchError, match="^interrupted"), watched(LESSON, *options(tmp_path, 2)) as run:
        assert run.until(lambda run: run.printed) and run.strike("all", signal.SIGSTOP)
        assert run.ended(timeout=1) == ["launcher", "rank 0", "rank 1"]
        os.kill(os.getpid(), signal.SIGINT)
        run.ended()
    assert gone(mark)


def test_a_signal_that_cannot_be_given_is_told(tmp_path, mark):
    with pytest.raises(LaunchError, match="^nobody is called 'rank 2': there are launcher, rank 0, rank 1, all$"):
        with_signal(LESSON, *options(tmp_path, 2), victim="rank 2")
    with pytest.raises(LaunchError, match="^after='3' is no number of checkpoints from 1, and no function of the run$"):
        with_signal(LESSON, *options(tmp_path, 2), after="3")
    assert gone(mark)


@pytest.mark.slow
def test_a_moment_that_does_not_come_is_told(tmp_path, mark):
    late = "^the run had ended before rank 0 could get a signal after 21 checkpoints$"
    with pytest.raises(LaunchError, match=late):
        with_signal(LESSON, *options(tmp_path, None), "--samples", 64, ranks=None, victim="rank 0", after=21)
    with pytest.raises(LaunchError, match="after 1 checkpoint: epochs, batch size, .* are numbers from 1"):
        with_signal(LESSON, *options(tmp_path, None), "--keep", 0, ranks=None, victim="rank 0")
    assert gone(mark)
