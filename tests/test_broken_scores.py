"""Scores that ranks share: padded, dropped and mean of means are wrong where they must be; tests on rank 0 alone."""

import pytest
from one_process import DATA
from ranks import run_ranks

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.evaluate import evaluate
from ddp_lessons.workbench.broken import rank_0_only, scores

SIZES = 8, 10, 30


def tables(rank, world_size):
    """What each way says for each size, and what ends a test on rank 0 alone."""
    return {size: scores.measure(size, DATA) for size in SIZES}, rank_0_only.measure(DATA)


@pytest.fixture(scope="module")
def measured():
    everyones = run_ranks(4, tables)
    assert everyones == [everyones[0]] * 4
    return everyones[0]


def right_answers():
    """1 or 0 for each of the first test images, by the course's own evaluate, an image at a time."""
    model = scores.trained_model(DATA)
    images = load_mnist(DATA, train=False, samples=max(SIZES)).tensors
    return [round(evaluate(model, Loader(images, number), "cpu")[1]) for number in range(max(SIZES))]


class Loader(list):
    """A loader of one image."""

    def __init__(self, tensors, number):
        super().__init__([tuple(tensor[number : number + 1] for tensor in tensors)])
        self.dataset = range(1)


def words(right, count):
    return f"{right} of {count} right, {right / count:.4f}"


@pytest.mark.parametrize("size", SIZES)
def test_each_way_counts_the_samples_that_it_says(measured, size):
    right = right_answers()[:size]
    missing = -size % 4
    means = [sum(right[rank::4]) / len(right[rank::4]) for rank in range(4)]
    table = measured[0][size]
    assert table["one process"] == table["exact"] == words(sum(right), size)
    assert table["padded"] == words(sum(right + right[:missing]), size + missing)
    assert table["dropped"] == words(sum(right[: size // 4 * 4]), size // 4 * 4)
    assert table["mean_of_means"] == f"{sum(means) / 4:.4f}"


def test_only_the_exact_way_is_right_where_shares_differ(measured):
    truth = measured[0][10]["one process"][-6:]
    assert [way for way, said in measured[0][10].items() if said[-6:] == truth] == ["one process", "exact"]


def test_rank_0_alone_waits_only_through_ddp_with_buffers(measured):
    waits = {case for case, said in measured[1].items() if said != "none"}
    assert waits == {"BatchNorm, through_ddp"}
