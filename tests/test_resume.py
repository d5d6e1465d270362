"""A run that goes on from a checkpoint: bit for bit on the same ranks, to rounding on others, and no sample twice."""

import io
import itertools
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from one_process import DATA
from ranks import as_script, meeting_point, run_all, run_ranks, run_script, torchrun_environment
from slow import slow

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.model import build_model
from ddp_lessons.lesson6_score_and_resume import ResumableSampler, Training
from ddp_lessons.workbench.killing import same_state

SCRIPT = Path(__file__).parents[1] / "scripts" / "lesson6_score_and_resume.py"
SMALL = ["--data", DATA, "--samples", "640", "--epochs", "2", "--checkpoint-every", "4", "--keep", "99", "--lr", "0.1"]


# in one process a rank: from each step


def begin() -> Training:
    """A training of 2 epochs of 5 steps, at its first step."""
    run = {"seed": 0, "global_batch": 48, "batch_size": 48, "lr": 0.1, "epochs": 2, "dropout": 0.2}
    torch.manual_seed(0)
    samples = load_mnist(DATA, train=True, samples=250)
    return Training(build_model("linear"), samples, run, torch.device("cpu"), dist.get_rank(), dist.get_world_size())


def copy(state: dict) -> dict:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def to_the_end(training: Training) -> Iterator[None]:
    """Take all steps that are left; yield after each, and after each epoch."""
    while training.sampler.epoch < 2:
        for _ in training.rest_of_epoch():
            yield
        training.sampler.set_epoch(training.sampler.epoch + 1)
        yield


def resumed_from_each(rank, world_size, throwaway: bool) -> list[tuple[bool, float]]:
    """Tell for each state of a run whether going on from it ends in the same state, and how far the weights are."""
    training = begin()
    states = [copy(training.state_dict()) for _ in to_the_end(training)]
    unstopped, ends = states[-1], []
    for state in states[:-2]:
        training = begin()
        if not throwaway:
            training.backward = lambda *_: None
        training.load_state_dict(state)
        vars(training).pop("backward", None)
        for _ in to_the_end(training):
            pass
        end = copy(training.state_dict())
        apart = [(end["model"][name] - weight).abs().max().item() for name, weight in unstopped["model"].items()]
        ends.append((same_state(end, unstopped), max(apart)))
    return ends


@pytest.mark.parametrize("ranks", [3, *map(slow, [1, 2, 4])])
def test_from_each_step_it_ends_bit_for_bit_where_the_unstopped_run_ends(ranks):
    for ends in run_ranks(ranks, resumed_from_each, True):
        assert ends == [(True, 0.0)] * 10  # weights, momentum, schedule, each rank's random numbers, place: all


@pytest.mark.parametrize("ranks", [3, slow(4)])
def test_without_the_throwaway_backward_it_ends_a_rounding_away(ranks):
    for ends in run_ranks(ranks, resumed_from_each, False):
        assert sum(not equal for equal, _ in ends) >= 5  # here and there the two orders give the same sum
        assert 0 < max(apart for _, apart in ends) < 1e-6


# the order of samples


def batches(size: int, ranks: int, batch: int, done: int = 0) -> list[list[int]]:
    """Return what all ranks together read in each step that is left after `done` samples, as loaders share it out."""
    shares = []
    for rank in range(ranks):
        sampler = ResumableSampler(range(size), ranks, rank, seed=5, drop_last=True)
        sampler.set_epoch(3)
        sampler.start = done
        mine = list(sampler)
        shares.append([mine[i : i + batch // ranks] for i in range(0, len(mine), batch // ranks)])
    steps = [sorted(itertools.chain(*parts)) for parts in zip(*shares, strict=True)]
    return [step for step in steps if len(step) == batch]


@pytest.mark.parametrize("batch", [1, 6, 12, 24])
def test_what_is_left_of_an_epoch_is_read_once_on_any_number_of_ranks(batch):
    counts = [ranks for ranks in range(1, 9) if batch % ranks == 0]
    for size, before, after in itertools.product(range(batch, 101, 7), counts, counts):
        order = torch.randperm(size, generator=torch.Generator().manual_seed(5 + 3)).tolist()
        unstopped = [sorted(order[i : i + batch]) for i in range(0, size - batch + 1, batch)]
        assert batches(size, before, batch) == unstopped
        for steps in range(len(unstopped) + 1):
            assert batches(size, after, batch, done=steps * batch) == unstopped[steps:]


# the script


def run(folder, ranks, *options):
    """Run the script in a new folder; return what rank 0 prints, and the weights."""
    folder.mkdir(exist_ok=True)
    printed, *others = run_script(SCRIPT, *SMALL, *options, "--save", "m.pth", folder=folder, ranks=ranks)
    assert others == [""] * len(others)
    return printed, torch.load(folder / "m.pth", weights_only=True)


def furthest(mine: dict, theirs: dict) -> float:
    return max((mine[name] - theirs[name]).abs().max().item() for name in theirs)


def take(checkpoint: Path, folder: Path) -> Path:
    """Lay a checkpoint into a new folder, as if the run had been killed right after it."""
    (folder / "checkpoints").mkdir(parents=True)
    shutil.copy(checkpoint, folder / "checkpoints")
    return folder


@pytest.mark.parametrize(("before", "others"), [(None, [2]), (2, [4, None]), slow(4, [2])])
def test_other_ranks_go_on_to_the_same_end_but_for_rounding(before, others, tmp_path):
    _, unstopped = run(tmp_path / "unstopped", before, "--dropout", "0")
    checkpoint = sorted((tmp_path / "unstopped" / "checkpoints").glob("*.pth"))[1]  # in mid-epoch
    for after in others:
        folder = take(checkpoint, tmp_path / f"on {after}")
        early = torch.load(checkpoint, weights_only=True)
        printed, resumed = run(folder, after, "--dropout", "0", "--resume", "auto")
        assert f"resumed at step {early['step']}, written by {before or 1} ranks" in printed
        assert furthest(resumed, unstopped) < 1e-6 and furthest(early["model"], unstopped) > 1e-3
    if before == 2:
        folder = take(checkpoint, tmp_path / "on 3")
        with pytest.raises(AssertionError, match="has 64 samples a step: 3 ranks cannot share them equally"):
            run(folder, 3, "--dropout", "0", "--resume", "auto")


def terminated_script(options, folder, environment):
    """Run the script; this process, one rank, gets SIGTERM as soon as there is a checkpoint."""

    def terminate():
        while not list(folder.glob("checkpoints/epochs-*")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=terminate, daemon=True).start()
    return as_script(SCRIPT, options, folder, environment)


def test_one_rank_that_is_asked_to_stop_stops_all_and_they_go_on_to_the_bit(tmp_path):
    _, unstopped = run(tmp_path / "unstopped", 3, "--epochs", "9")
    folder = tmp_path / "stopped"
    folder.mkdir()
    options = [*SMALL, "--epochs", "9", "--save", "m.pth"]
    with meeting_point() as port:
        environments = [torchrun_environment(rank, 3, port) for rank in range(3)]
        calls = [(as_script, SCRIPT, options, folder, environment) for environment in environments]
        calls[1] = (terminated_script, options, folder, environments[1])
        printed, *_ = run_all(calls)
    step = int(printed.split("saved at step ")[1].split(",")[0])
    assert printed.endswith(f"saved at step {step}, and stopped: --resume auto goes on\n") and 4 <= step < 54
    printed, resumed = run(folder, 3, "--epochs", "9", "--resume", "auto")
    assert f"resumed at step {step}, written by 3 ranks" in printed
    assert same_state(dict(resumed), dict(unstopped))
