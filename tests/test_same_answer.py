"""The proof: any number of ranks takes the very steps that one process takes."""

from itertools import product
from pathlib import Path

import pytest
import torch
from ranks import run_all, run_ranks
from slow import slow_but

from ddp_lessons.workbench.proof import OPTIMIZERS, differences, furthest, rounding_bounds, share_of_bounds, train_steps

DATA = str(Path(__file__).parents[1] / "data")
LINEAR = {"float64": 1e-12, "float32": 1e-5}
PATHS = [("float64", "SGD", 1), ("float64", "momentum", 2), ("float64", "AdamW", 4), ("float32", "momentum", 2)]
GRADIENTS = [("linear", "float64", 1), ("linear", "float32", 4), ("cnn", "float64", 2), ("cnn", "float32", 2)]


def on_rank(rank, world_size, function, *args):
    return function(*args)


def differences_on_the_rows_of_rank_0(rank, world_size, *training):
    pairs = zip(train_steps(0, world_size, *training), train_steps(0, 1, *training), strict=True)
    return [furthest(*pair) for pair in pairs]


def one_process(*training):
    """Return the largest weight and the largest gradient after each step."""
    return [
        (weights.abs().max().item(), torch.cat([w.grad.flatten() for w in model.parameters()]).abs().max().item())
        for model in train_steps(0, 1, *training)
        for weights in [torch.nn.utils.parameters_to_vector(model.parameters())]
    ]


def backwards(*training):
    pairs = zip(train_steps(0, 1, *training), train_steps(0, 1, *training, backwards=True), strict=True)
    return [furthest(*pair) for pair in pairs]


# trajectories


@pytest.mark.parametrize(("dtype", "optimizer", "ranks"), slow_but(PATHS, list(product(LINEAR, OPTIMIZERS, [1, 2, 4]))))
def test_100_steps_of_the_linear_model_are_those_of_one_process(dtype, optimizer, ranks):
    apart = run_ranks(ranks, on_rank, differences, "linear", optimizer, dtype, 100, DATA)
    assert len(apart[0]) == 100 and all(each <= LINEAR[dtype] for each in apart[0])
    assert apart[1:] == [[]] * (ranks - 1)


@pytest.mark.parametrize(
    ("optimizer", "ranks"), slow_but([("AdamW", 2), ("momentum", 4)], list(product(OPTIMIZERS, [1, 2, 4])))
)
def test_50_steps_of_a_cnn_with_group_norm_are_those_of_one_process_in_float64(optimizer, ranks):
    apart, *_ = run_ranks(ranks, on_rank, differences, "small", optimizer, "float64", 50, DATA)
    assert len(apart) == 50 and all(each < 1e-12 for each in apart)


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["momentum", "AdamW"])
def test_50_steps_of_the_course_s_cnn_are_those_of_one_process_in_float64(optimizer):
    apart, *_ = run_ranks(2, on_rank, differences, "cnn", optimizer, "float64", 50, DATA)
    assert len(apart) == 50 and all(each < 1e-12 for each in apart)


@pytest.mark.parametrize("optimizer", slow_but(["SGD"], list(OPTIMIZERS)))
def test_ranks_on_wrong_rows_are_told_from_it(optimizer):
    for apart in run_ranks(2, differences_on_the_rows_of_rank_0, "small", optimizer, "float64", 5, DATA):
        assert min(apart) > 1e-3


def test_one_process_trains():
    [steps] = run_all([(one_process, "small", "momentum", "float64", 50, DATA)])
    weights, gradients = zip(*steps, strict=True)
    assert min(gradients) > 1e-2 and len(set(weights)) == 50


def test_in_float32_two_ranks_and_one_process_in_another_order_both_leave_the_path():
    ranks, *_ = run_ranks(2, on_rank, differences, "small", "momentum", "float32", 50, DATA)
    [order] = run_all([(backwards, "small", "momentum", "float32", 50, DATA)])
    [smooth] = run_all([(backwards, "smooth", "momentum", "float32", 50, DATA)])
    assert max(ranks) > 1e-4 and max(order) > 1e-4 and max(smooth) < min(max(ranks), max(order)) / 10


def test_a_batch_that_ranks_cannot_share_is_refused():
    with pytest.raises(ValueError, match="a batch of 64 cannot be shared equally by 3 ranks"):
        next(train_steps(0, 3))


# one gradient


@pytest.mark.parametrize(
    ("network", "dtype", "ranks"), slow_but(GRADIENTS, list(product(["linear", "cnn"], LINEAR, [1, 2, 4])))
)
def test_one_gradient_is_within_its_rounding_bound(network, dtype, ranks):
    share, *others = run_ranks(ranks, on_rank, share_of_bounds, network, dtype, DATA)
    assert share == 0 if ranks == 1 else 0 < share < 1
    assert others == [None] * (ranks - 1)


def test_the_bound_does_not_count_what_cancels_within_a_sample():
    """As lesson 5 says of a bias before a GroupNorm: only float64 tells such rounding from a mistake."""
    assert run_ranks(2, on_rank, share_of_bounds, "small", "float32", DATA)[0] > 1


def test_the_bound_is_a_closed_form_where_there_is_one():
    """The gradient of a bias is the mean of softmax minus one-hot: its terms are within 1, so the bound is small."""
    [bounds] = run_all([(rounding_bounds, "linear", "float64", DATA)])
    weight, bias = bounds
    assert weight.shape == (10, 784) and bias.shape == (10,)
    u = 2.0**-53
    assert (bias > 0).all() and (bias < 2 * 63 * u).all()
    # over the ten classes, |softmax - one-hot| adds up to 2 (1 - p of the label), and p is about a tenth at first
    assert bias.sum().item() / (2 * 63 * u) == pytest.approx(1.8, abs=0.1)
