"""The library's checkpoint: what it keeps on any number of ranks, and what it does not see."""

import os
import random
import shutil
import signal
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from ranks import run_all, run_ranks
from slow import slow
from torch import nn, optim
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.workbench.distributed_checkpoint import load_distributed, save_distributed
from ddp_lessons.workbench.killing import same_state


def training(steps: int, seed: int = 1):
    """Return a model, DDP's where there is a group, and its optimizer, after so many steps with momentum."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 40), nn.BatchNorm1d(40), nn.Linear(40, 2))
    model = DDP(model) if dist.is_initialized() else model
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(seed)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 6)).square().mean().backward()
        optimizer.step()
    return model, optimizer


def content(model, optimizer) -> dict:
    """All that a model and its optimizer hold, a copy."""
    weights, moments = get_state_dict(model, optimizer)
    moments = [{name: value.clone() for name, value in slots.items()} for slots in moments["state"].values()]
    return {**{name: weight.clone() for name, weight in weights.items()}, "moments": moments}


def save(rank, world_size, folder, steps=3, kill=None, seeds=(1, 1, 1)):
    """Save; the rank that `kill` names is killed, for real, when it comes to the method that it names."""
    parts = training(steps, seeds[rank])
    if kill and kill[0] == rank:
        setattr(dcp.FileSystemWriter, kill[1], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    save_distributed(*parts, folder)
    return content(*parts)


def load(rank, world_size, folder):
    parts = training(0)
    load_distributed(*parts, folder)
    return content(*parts)


def load_alone(folder):
    """Load in one process without a group; return None where that is refused."""
    try:
        return load(0, 1, folder)
    except dcp.api.CheckpointException:  # which is no Exception: `except Exception` lets it pass
        return None


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder that two ranks have saved, and what they had."""
    folder = tmp_path_factory.mktemp("saved") / "step3"
    return folder, run_ranks(2, save, str(folder))[0]


@pytest.fixture
def copied(saved, tmp_path):
    return Path(shutil.copytree(saved[0], tmp_path / "copy"))


# what it keeps


@pytest.mark.parametrize("ranks", [1, 4, slow(2)])
def test_what_two_ranks_saved_any_number_loads_bit_for_bit(ranks, saved):
    folder, had = saved
    assert {path.name for path in folder.iterdir()} == {".metadata", "__0_0.distcp", "__1_0.distcp"}
    assert len(had["moments"]) == 6 and not same_state(had, run_all([(content_of, 0)])[0])
    for mine in run_ranks(ranks, load, str(folder)):
        assert same_state(mine, had)


def content_of(steps):
    return content(*training(steps))


def test_a_single_process_loads_it_too(saved):
    folder, had = saved
    assert same_state(run_all([(load_alone, str(folder))])[0], had)


def saved_while_training_goes_on(rank, world_size, folder):
    model, optimizer = training(3)
    weights, moments = get_state_dict(model, optimizer)
    had = content(model, optimizer)
    saving = dcp.async_save({"model": weights, "optimizer": moments}, checkpoint_id=folder)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()  # what training would do meanwhile, at its worst
    saving.result(timeout=300)
    return had, load(rank, world_size, folder)


def test_async_save_keeps_what_there_was_at_the_call(tmp_path):
    for had, loaded in run_ranks(2, saved_while_training_goes_on, str(tmp_path / "async")):
        assert same_state(loaded, had)


# what it does not


def test_of_buffers_that_differ_between_ranks_each_is_of_some_rank(tmp_path):
    """Each tensor is written by one rank, not all by rank 0: BatchNorm's mean and variance need not fit together."""
    folder = str(tmp_path / "norm")
    had = run_ranks(3, save, folder, 3, None, (1, 2, 3))
    loaded = run_all([(load_alone, folder)])[0]
    owners = {name: [torch.equal(loaded[name], mine[name]) for mine in had] for name in loaded if "running" in name}
    assert all(owner.count(True) == 1 for owner in owners.values()) and len(owners) == 2


@pytest.mark.parametrize("kill", [(1, "write_data"), (0, "finish")])
def test_killed_in_a_new_folder_it_leaves_what_is_refused(kill, tmp_path):
    folder = tmp_path / "new"
    with pytest.raises((AssertionError, EOFError)):
        run_ranks(2, save, str(folder), 6, kill)
    assert (folder / "__0_0.distcp").exists() and not (folder / ".metadata").exists()
    assert run_all([(load_alone, str(folder))]) == [None]


def test_killed_over_an_older_one_it_leaves_a_mixture_that_nobody_notices(saved, copied):
    _, old = saved
    with pytest.raises((AssertionError, EOFError)):
        run_ranks(2, save, str(copied), 6, (1, "write_data"))
    mixture, new = run_all([(load_alone, str(copied)), (content_of, 6)])
    from_new = {name for name in new if same_state(mixture[name], new[name])}
    from_old = {name for name in old if same_state(mixture[name], old[name])}
    assert from_new and from_old and from_new | from_old | {"moments"} == new.keys()
    assert not same_state(mixture["moments"], new["moments"]) or not same_state(mixture["moments"], old["moments"])


def flipped(folder, part):
    """Flip a bit at 100 places of a part; return how often the load was refused, right, and wrong."""
    good, places, had = Path(folder, part).read_bytes(), random.Random(0), load_alone(folder)
    counts = {"refused": 0, "right": 0, "wrong": 0}
    for _ in range(100):
        bad = bytearray(good)
        bad[places.randrange(len(bad))] ^= 1 << places.randrange(8)
        Path(folder, part).write_bytes(bad)
        loaded = load_alone(folder)
        counts["refused" if loaded is None else "right" if same_state(loaded, had) else "wrong"] += 1
    return counts


def test_a_flipped_bit_in_the_weights_is_loaded(copied):
    [counts] = run_all([(flipped, str(copied), "__0_0.distcp")])
    assert counts["wrong"] > 5, counts
