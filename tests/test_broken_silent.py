"""Ranks that drift apart: the alarm says so at the first bad step, and is silent on every correct training."""

import pytest
import torch
from one_process import DATA
from ranks import run_ranks
from slow import slow
from torch import optim
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.drift import raise_on_drift
from ddp_lessons.workbench.broken import parts, silent, syncs, uneven

SAY = "step {}: 0.weight on rank {} is not what it is on rank 0".format
FIRST_BAD_STEP = {"module_called": 1, "unfrozen_after_wrapping": 3, "no_sync_never_left": 1}
RIGHT = ("wrapper_called", "wrapped_again", "no_sync_left")
WRONG_ALIKE = ("sum_loss", "divided_again", "clip_each_time", "unequal local batches")


def table(rank, world_size):
    return silent.measure(DATA)


def watched(rank, world_size):
    """What the alarm says of correct trainings of many kinds, and how far the ranks are apart."""
    images, labels = parts.samples(DATA)
    share = silent.in_steps(images[rank::world_size], labels[rank::world_size])  # of 3 ranks, not equally large
    right = {
        "plain": (parts.network(),), "AdamW": (parts.network(), parts.mean_loss, optim.AdamW),
        "BatchNorm": (parts.network("BatchNorm"),), "accumulation": (parts.network(), syncs.sync_at_the_end),
    }  # fmt: skip
    seen = {name: silent.watch(silent.train, model, share, *more) for name, (model, *more) in right.items()}
    for dtype in (torch.bfloat16, torch.float32):
        batches = [(images.to(dtype), labels) for images, labels in share]
        seen[str(dtype)] = silent.watch(silent.train, parts.network().to(dtype), batches)
    seen["Join"] = silent.watch(with_join, parts.network(), uneven.batches(DATA)[rank::world_size])
    return seen


def with_join(model, batches):
    """Train on uneven inputs, and compare at the end: in the loop, the ranks that are done would not answer."""
    wrapped, optimizer = DDP(model), optim.SGD(model.parameters(), lr=0.01)
    with Join([wrapped]):
        for images, labels in batches:
            optimizer.zero_grad()
            parts.mean_loss(wrapped, images, labels)
            optimizer.step()
    raise_on_drift(model, "end")


def a_step_before(rank, world_size):
    """How each training stands that ends just before its first bad step."""
    share = silent.in_steps(*parts.my_share(DATA))
    return [
        silent.watch(training, parts.network(), share[: step - 1], *way)
        for (training, *way), step in ((silent.TRAININGS[name], step) for name, step in FIRST_BAD_STEP.items())
    ]


@pytest.fixture(scope="module", params=[2, slow(4)], ids="{} ranks".format)
def ranks(request):
    return run_ranks(request.param, table)


@pytest.mark.parametrize("name", FIRST_BAD_STEP)
def test_the_alarm_says_so_at_the_first_bad_step(ranks, name):
    others = ", ".join(str(rank) for rank in range(1, len(ranks)))
    for seen in ranks:
        assert seen[name]["alarm"] == SAY(FIRST_BAD_STEP[name], others)
        assert seen[name]["apart"] > 1e-3


def test_a_step_before_nothing_is_wrong():
    for seen in run_ranks(2, a_step_before):
        assert seen == [{"alarm": "silent", "apart": 0}] * len(FIRST_BAD_STEP)


@pytest.mark.parametrize("name", RIGHT + WRONG_ALIKE)
def test_the_alarm_is_silent_where_ranks_are_equal_be_they_right_or_wrong(ranks, name):
    for seen in ranks:
        assert seen[name] == {"alarm": "silent", "apart": 0}


def test_the_table_has_all(ranks):
    assert set(ranks[0]) == {*FIRST_BAD_STEP, *RIGHT, *WRONG_ALIKE}


@pytest.mark.parametrize("size", [3, slow(4)])
def test_the_alarm_is_silent_on_correct_trainings(size):
    for seen in run_ranks(size, watched):
        assert len(seen) == 7
        for name, both in seen.items():
            assert both == {"alarm": "silent", "apart": 0}, name
