"""A resumed run ends where the one that never stopped did, to the bit; without any part of its state it does not."""

import pytest
from one_process import DATA
from ranks import run_ranks
from slow import slow

from ddp_lessons.workbench.broken import left_out


def table(rank, world_size):
    return left_out.measure(DATA)


@pytest.mark.parametrize("ranks", [2, slow(4)])
def test_each_part_is_needed(ranks):
    everyones = run_ranks(ranks, table)
    assert everyones == [everyones[0]] * ranks
    apart = everyones[0]
    assert apart.pop("nothing") == 0
    first_sum = apart.pop("throwaway_backward")
    assert first_sum == 0 if ranks == 2 else 0 < first_sum < 1e-6  # two numbers have but one order
    assert all(1e-3 < distance < 1 for distance in apart.values()), apart
