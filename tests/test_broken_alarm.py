"""The drift alarm: one bit on one rank is enough, and all ranks say the same."""

import pytest
import torch
import torch.distributed as dist
from ranks import run_ranks
from torch import nn

from ddp_lessons.blocks.drift import raise_on_drift
from ddp_lessons.workbench.broken.parts import network

DTYPES = ("float64", "float32", "bfloat16", "float16")
SAY = "now: {} on rank {} is not what it is on rank 0".format


def said(model, group=None):
    """What the alarm says, None if nothing."""
    try:
        return raise_on_drift(model, "now", group)
    except RuntimeError as error:
        return str(error)


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


CHANGES = {  # each with the rank that makes it, of three, the weight, and the ranks that are named then
    last_bit: (2, "4.weight", "2"), swap: (1, "0.weight", "1"), one_up_one_down: (1, "0.weight", "1"),
    sign_of_all: (0, "9.bias", "1, 2"), nothing: (1, "0.weight", None),
}  # fmt: skip


def after_each_change(rank, world_size, dtype):
    """What the alarm says on this rank after each change, made to a new model on one rank."""
    answers = []
    for change, (changed_rank, name, _) in CHANGES.items():
        model = network().to(getattr(torch, dtype))
        if rank == changed_rank:
            change(model.get_parameter(name).detach().view(-1))
        answers.append(said(model))
    return answers


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


def without_weights(rank, world_size):
    return said(nn.ReLU())


def in_a_group(rank, world_size):
    """What the alarm says to ranks 1 and 2 where rank 0, which has other weights, is not of their group; then it is."""
    model, group = network(), dist.new_group([1, 2])
    model[0].weight.data += rank == 0
    return None if rank == 0 else said(model, group), said(model)


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_changes_on_one_rank(dtype):
    """One bit is enough; changes that a sum of the bits would not see, for they cancel out, are seen as well."""
    wanted = [SAY(name, named) if named else None for _, name, named in CHANGES.values()]
    assert run_ranks(3, after_each_change, dtype) == [wanted] * 3


def test_weights_of_unusual_shape():
    assert run_ranks(2, unusual) == [(None, SAY("frozen", 1))] * 2


def test_buffers_may_differ():
    assert run_ranks(2, buffers) == [None, None]


def test_a_group_is_compared_with_itself():
    assert run_ranks(3, in_a_group) == [(None, SAY("0.weight", "1, 2"))] * 3


def test_a_model_without_weights_has_nothing_to_compare():
    assert run_ranks(2, without_weights) == [None, None]


def test_a_single_process_has_nobody_to_compare_with():
    assert said(network()) is None
