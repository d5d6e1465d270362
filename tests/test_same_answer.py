"""The proof: any number of ranks takes the very steps that one process takes."""

from pathlib import Path

import pytest
import torch
from ranks import run_all, run_ranks

from ddp_lessons.workbench.proof import train_steps

DATA = str(Path(__file__).parents[1] / "data")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}


def all_on_the_rows_of_rank_0(rank, world_size, momentum, dtype, folder):
    return train_steps(0, world_size, momentum, dtype, folder)


def furthest(results, wanted):
    """The largest difference, over all ranks, from any gradient or weight of one process."""
    pairs = [pair for result in results for pair in zip(result, wanted, strict=True)]
    return max((got - right).abs().max().item() for got, right in pairs)


@pytest.fixture(scope="module", params=[0.0, 0.9], ids="momentum {}".format)
def momentum(request):
    return request.param


@pytest.fixture(scope="module", params=TOLERANCE, ids=str)
def dtype(request):
    return request.param


@pytest.fixture(scope="module")
def alone(momentum, dtype):
    [result] = run_all([(train_steps, 0, 1, momentum, dtype, DATA)])
    return result


def test_one_process_trains(alone):
    gradients, weights = alone
    assert gradients.shape == (100, 7850) and weights.shape == (7850,)
    assert gradients.abs().amax(dim=1).min() > 1e-3


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_take_the_steps_of_one_process(ranks, momentum, dtype, alone):
    assert furthest(run_ranks(ranks, train_steps, momentum, dtype, DATA), alone) <= TOLERANCE[dtype]


def test_ranks_on_wrong_rows_do_not(momentum, dtype, alone):
    assert furthest(run_ranks(2, all_on_the_rows_of_rank_0, momentum, dtype, DATA), alone) > 1e-2
