"""The score of all ranks against that of one process, worked out by hand: any number of samples, ranks and shares."""

from fractions import Fraction

import pytest
import torch
import torch.distributed as dist
from ranks import run_ranks
from slow import slow
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from ddp_lessons.blocks.data import InMemory
from ddp_lessons.blocks.evaluate import evaluate
from ddp_lessons.blocks.score import score

SIZES = range(1, 201)
CPU = torch.device("cpu")


def model_and_samples():
    """A model in float64 that mistakes some samples for others; each label follows from the sample's number."""
    torch.manual_seed(0)
    model, labels = nn.Linear(6, 10).double(), torch.arange(200) % 10
    images = model.weight.detach()[labels] * 3 + torch.randn(200, 6, dtype=torch.float64) / 2
    return model, images, labels


def first(size: int) -> InMemory:
    _, images, labels = model_and_samples()
    return InMemory(images[:size], labels[:size])


# what the ranks find


def scores(rank, world_size):
    """Return for each size the score, and of how many how many are right where shares are padded, and dropped."""
    model, images, labels = model_and_samples()
    right = model(images).argmax(dim=1) == labels
    exact = [score(model, InMemory(images[:size], labels[:size]), CPU, rank, world_size) for size in SIZES]
    counts = torch.tensor([[sampled(right[:size], drop) for drop in (False, True)] for size in SIZES])
    dist.all_reduce(counts)
    return [(loss, table.tolist()) for loss, table in exact], counts.tolist()


def sampled(right, drop: bool) -> tuple[int, int]:
    """Return the right ones in this rank's share, and its length, by a DistributedSampler that pads, or drops."""
    share = right[list(DistributedSampler(right, shuffle=False, drop_last=drop))]
    return int(share.sum()), len(share)


# the oracle: no batches, no shares, no ranks


def by_hand(size: int) -> tuple[float, list[list[int]]]:
    """Return the mean loss of the first samples, and the table of counts."""
    model, images, labels = model_and_samples()
    logits = (images @ model.weight.T + model.bias).detach()
    losses = logits.exp().sum(dim=1).log() - logits[range(200), labels]
    table = [[0] * 10 for _ in range(10)]
    for label, answer in zip(labels[:size].tolist(), logits.argmax(dim=1).tolist(), strict=False):
        table[label][answer] += 1
    return losses[:size].mean().item(), table


@pytest.fixture(scope="module")
def truth():
    return [by_hand(size) for size in SIZES]


@pytest.fixture(scope="module")
def right():
    """Which of the samples are classified right, as 0 and 1."""
    model, images, labels = model_and_samples()
    right = (model(images).argmax(dim=1) == labels).int().tolist()
    assert 100 < sum(right) < 180, "a model that is always right cannot tell a sample that counts twice"
    return right


@pytest.mark.parametrize("ranks", [1, 2, 3, *(slow(ranks) for ranks in range(4, 9))])
def test_the_score_is_that_of_one_process_for_any_number_of_samples(ranks, truth, right):
    found = run_ranks(ranks, scores)
    padded_wrong = dropped_wrong = 0
    for size, (loss, table) in zip(SIZES, truth, strict=True):
        for exact, _ in found:  # every rank has the whole score
            assert exact[size - 1] == (pytest.approx(loss, abs=1e-12, rel=0), table)
        padded, dropped = found[0][1][size - 1]
        even, twice = size - size % ranks, -size % ranks  # what all have alike; the first ones, who count again
        assert padded == [sum(right[i % size] for i in range(size + twice)), size + twice]
        assert dropped == [sum(right[:even]), even]
        accuracy = Fraction(sum(right[:size]), size)
        padded_wrong += Fraction(*padded) != accuracy
        dropped_wrong += even == 0 or Fraction(*dropped) != accuracy
    uneven = sum(size % ranks > 0 for size in SIZES)
    assert 0.95 * uneven <= min(padded_wrong, dropped_wrong), "else this test could not tell them from the exact score"
    assert max(padded_wrong, dropped_wrong) <= uneven


def test_one_process_alone_has_the_same_score():
    model, *_ = model_and_samples()
    for size in (1, 7, 200):
        loss, table = score(model, first(size), CPU, 0, 1)
        assert (loss, table.tolist()) == (pytest.approx(by_hand(size)[0], abs=1e-12), by_hand(size)[1])
        mean, accuracy = evaluate(model, DataLoader(first(size), 10, collate_fn=tuple), CPU)
        assert (loss, table.trace() / size) == (pytest.approx(mean, abs=1e-12), pytest.approx(accuracy))


# BatchNorm


def normed(rank):
    """A model whose running statistics are of this rank's own."""
    model = nn.Sequential(nn.BatchNorm1d(6), model_and_samples()[0]).double()
    model[0].running_mean += rank
    model[0].running_var *= 1 + rank
    model[0].num_batches_tracked += rank
    return model


def score_with_own_statistics(rank, world_size):
    model = normed(rank)
    loss, table = score(model, first(50), CPU, rank, world_size)
    return loss, table.tolist(), [buffer.tolist() for buffer in model.buffers()]


def test_ranks_whose_running_statistics_differ_get_rank_0_s_score():
    found = run_ranks(3, score_with_own_statistics)
    apart = [score(normed(rank), first(50), CPU, 0, 1)[0] for rank in range(3)]
    assert min(abs(apart[0] - other) for other in apart[1:]) > 0.1, "else any rank's statistics would do"
    assert [loss for loss, *_ in found] == [pytest.approx(apart[0], abs=1e-12)] * 3
    assert all(table == score(normed(0), first(50), CPU, 0, 1)[1].tolist() for _, table, _ in found)
    assert all(buffers == [buffer.tolist() for buffer in normed(0).buffers()] for *_, buffers in found)


# the library's


def library_scores(rank, world_size, size):
    """Return accuracy and table from torchmetrics, and the table from `score`."""
    from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix  # here: other ranks wait less

    model, images, labels = model_and_samples()
    mine = slice(rank, size, world_size)
    metrics = MulticlassAccuracy(10, average="micro"), MulticlassConfusionMatrix(10)
    for metric in metrics if len(labels[mine]) else []:
        metric.update(model(images[mine]), labels[mine])
    accuracy, theirs = (metric.compute() for metric in metrics)
    _, table = score(model, first(size), CPU, rank, world_size)
    return accuracy.item(), theirs.tolist(), table.tolist()


@pytest.mark.parametrize("size", [103, 2])  # with 2, the last of three ranks has no sample
@pytest.mark.filterwarnings("ignore:The ``compute`` method")
def test_torchmetrics_counts_the_same(size, truth, right):
    for accuracy, theirs, mine in run_ranks(3, library_scores, size):
        assert accuracy == pytest.approx(sum(right[:size]) / size, rel=1e-6)
        assert theirs == mine == truth[size - 1][1]
