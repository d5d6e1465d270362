"""The drift alarm: one bit on one rank is enough, and all ranks say the same."""

import pytest
import torch
from ranks import run_ranks
from torch import nn

from ddp_lessons.blocks.drift import raise_on_drift
from ddp_lessons.workbench.broken.parts import network

DTYPES = ("float64", "float32", "bfloat16", "float16")
SAY = "now: {} on rank {} is not what it is on rank 0".format


def said(model):
    """What the alarm says, None if nothing."""
    try:
        return raise_on_drift(model, "now")
    except RuntimeError as error:
        return str(error)


def after_change(rank, world_size, dtype, changed_rank, change, name):
    """What the alarm says on this rank, after one rank has changed the weights of that name."""
    model = network().to(getattr(torch, dtype))
    if rank == changed_rank % world_size:
        change(model.get_parameter(name).detach().view(-1))
    return said(model)


def last_bit(weight):
    weight[3] = torch.nextafter(weight[3], torch.full_like(weight[3], torch.inf))


def swap(weight):
    weight[:2] = weight[:2].flip(0)


def one_up_one_down(weight):
    weight.view(getattr(torch, f"int{8 * weight.element_size()}"))[:2] += torch.tensor([1, -1])


def sign_of_all(weight):
    weight.neg_()


def nothing(weight):
    pass


def unusual(rank, world_size):
    """What the alarm says of weights that are a number, strided, turned, shared, NaN and frozen; then of a change."""
    model = nn.Module()
    model.number = nn.Parameter(torch.tensor(1.0))
    model.column = nn.Parameter(torch.arange(12.0).view(3, 4)[:, 1])
    model.turned = nn.Parameter(torch.arange(12.0).view(3, 4).T)
    model.shared = model.turned
    model.nan = nn.Parameter(torch.tensor([torch.nan]))
    model.frozen = nn.Parameter(torch.zeros(3), requires_grad=False)
    before = said(model)
    model.frozen += 1e-30 * (rank == 1)
    return before, said(model)


def buffers(rank, world_size):
    """What the alarm says where only running statistics differ, as they do in correct trainings."""
    model = network("BatchNorm")
    model[1].running_mean += rank
    return said(model)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [2, 4])
def test_one_bit_of_one_weight_on_one_rank(size, dtype):
    said = run_ranks(size, after_change, dtype, -1, last_bit, "4.weight")
    assert said == [SAY("4.weight", size - 1)] * size


def test_one_bit_on_rank_0():
    assert run_ranks(3, after_change, "float32", 0, last_bit, "9.bias") == [SAY("9.bias", "1, 2")] * 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("change", [swap, one_up_one_down, sign_of_all])
def test_changes_that_a_sum_of_bits_does_not_see(change, dtype):
    assert run_ranks(2, after_change, dtype, 1, change, "0.weight") == [SAY("0.weight", 1)] * 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_weights(dtype):
    assert run_ranks(2, after_change, dtype, 1, nothing, "0.weight") == [None, None]


def test_weights_of_unusual_shape():
    assert run_ranks(2, unusual) == [(None, SAY("frozen", 1))] * 2


def test_buffers_may_differ():
    assert run_ranks(2, buffers) == [None, None]


def test_a_single_process_has_nobody_to_compare_with():
    assert said(network()) is None
