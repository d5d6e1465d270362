"""Uneven inputs: a time-out or a silent mistake without `Join`; with it, a gradient divided by all ranks or by one."""

import time

import pytest
from one_process import DATA, TOLERANCE, apart, one_gradient
from ranks import run_ranks
from slow import slow

from ddp_lessons.workbench.broken import parts, uneven


def ways(rank, world_size):
    """Rank 0's last gradient with each kind of `Join`, the number of batches, the table, and the seconds it took."""
    mine, left = uneven.batches(DATA)[rank::world_size], {}
    for train in (uneven.train_with_join, uneven.train_with_join_of_those_left):
        wrapped = parts.DDP(parts.network())
        train(wrapped, mine)
        left[train.__name__] = parts.gradient(wrapped)
    start = time.monotonic()
    return left, len(mine), uneven.measure(DATA), time.monotonic() - start


@pytest.fixture(scope="module", params=[2, slow(4)], ids="{} ranks".format)
def ranks(request):
    return run_ranks(request.param, ways)  # which fails if a rank stays alive or does not end well


def test_rank_0_has_a_batch_more(ranks):
    assert [batches for _, batches, *_ in ranks] == [3] + [2] * (len(ranks) - 1)


def test_without_join_a_rank_waits_until_the_time_out(ranks):
    for *_, table, seconds in ranks:
        assert table["without Join, the error"].startswith("Timed out waiting 2000ms for ")
        assert 2 < seconds < 300  # by default half an hour
        assert table["with Join, the error"] == "none"


def test_without_join_a_metric_gets_into_a_gradient(ranks):
    size = len(ranks)
    for *_, table, _ in ranks:
        assert table["without Join, a gradient that is 1"] == 1 / size + 100 * (size - 1)


def test_join_divides_the_last_gradient_by_all_ranks_or_by_those_left(ranks):
    size = 64 // (2 * len(ranks) + 1)
    right = one_gradient(2 * len(ranks) * size, (2 * len(ranks) + 1) * size)
    left = ranks[0][0]
    assert apart(left["train_with_join"], right / len(ranks)) < TOLERANCE
    assert apart(left["train_with_join_of_those_left"], right) < TOLERANCE
    for *_, table, _ in ranks:
        assert table["with Join, gap of the last gradient"] == pytest.approx(1 - 1 / len(ranks), rel=TOLERANCE)
        assert table["the same, divided by those left"] < TOLERANCE
