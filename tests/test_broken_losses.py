"""Losses that DDP turns into another one: by how much, and that their repairs give one process's gradient."""

import pytest
from one_process import DATA, TOLERANCE, apart, one_gradient
from ranks import run_ranks
from slow import slow

from ddp_lessons.workbench.broken import losses, parts


def ways(rank, world_size):
    """What each way leaves on this rank, and the table."""
    even, uneven = parts.my_share(DATA), losses.unequal_share(DATA)
    cases = {
        "mean": (parts.mean_loss, even), "sum": (losses.sum_loss, even), "scaled": (losses.sum_loss_scaled, even),
        "divided": (losses.divided_again, even), "uneven": (parts.mean_loss, uneven),
        "weighted": (losses.weighted_by_count, uneven), "weighted, even": (losses.weighted_by_count, even),
    }  # fmt: skip
    left = {name: parts.gradient_of(way, parts.network(), share)[0] for name, (way, share) in cases.items()}
    return left, losses.measure(DATA), len(uneven[1])


@pytest.fixture(scope="module", params=[2, slow(4)], ids="{} ranks".format)
def ranks(request):
    return run_ranks(request.param, ways)


@pytest.mark.parametrize(
    ("way", "reduction", "factor"),
    [
        ("mean", "mean", lambda size: 1), ("sum", "sum", lambda size: 1 / size), ("scaled", "sum", lambda size: 1),
        ("divided", "mean", lambda size: 1 / size), ("weighted", "mean", lambda size: 1),
        ("weighted, even", "mean", lambda size: 1),
    ],
)  # fmt: skip
def test_a_loss_gives_that_multiple_of_one_process_gradient(ranks, way, reduction, factor):
    right = one_gradient(reduction=reduction) * factor(len(ranks))
    for left, *_ in ranks:
        assert apart(left[way], right) < TOLERANCE


def test_unequal_local_batches_give_the_mean_of_means(ranks):
    sizes = [size for *_, size in ranks]
    assert sizes[0] == 48 and sum(sizes) == 64
    others = [one_gradient(48 + place, 64, len(ranks) - 1) for place in range(len(ranks) - 1)]
    mean_of_means = sum(others, one_gradient(0, 48)) / len(ranks)
    for left, *_ in ranks:
        assert apart(left["uneven"], mean_of_means) < TOLERANCE
    assert apart(mean_of_means, one_gradient()) > 0.3


def test_the_table_says_so(ranks):
    lost = 1 - 1 / len(ranks)
    for _, table, _ in ranks:
        assert list(table.values()) == pytest.approx([0, lost, 0, lost, table[UNEVEN], 0], rel=TOLERANCE, abs=TOLERANCE)
        assert table[UNEVEN] > 0.3


UNEVEN = "unequal local batches, mean loss"
