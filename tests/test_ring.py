"""The all-reduce by hand, on real ranks, against PyTorch's own; and a ring that is broken ends."""

from queue import Empty

import pytest
import torch
import torch.distributed as dist
from ranks import run_ranks

from ddp_lessons.workbench import ring
from ddp_lessons.workbench.ring import all_reduce_at_rank_0, exchange, on_threads, ring_all_reduce


def both(rank: int, world_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    numbers = torch.randn(3 * world_size, dtype=torch.float64, generator=torch.Generator().manual_seed(rank))
    chunks = list(numbers.clone().chunk(world_size))
    ring_all_reduce(chunks, rank, exchange)
    dist.all_reduce(numbers)
    return torch.cat(chunks), numbers


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_the_ring_gives_what_pytorch_gives(world_size):
    results = run_ranks(world_size, both)
    for ours, theirs in results:
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
        assert torch.equal(ours, results[0][0])  # to the bit: a chunk is added up once, and goes round


@pytest.mark.parametrize("ranks", [2, 5])
def test_the_naive_way_gives_the_sum_and_rank_0_sends_it_all(ranks):
    sums, sent = on_threads(ranks, lambda rank, *post: all_reduce_at_rank_0(torch.full((6,), float(rank)), rank, *post))
    assert all(torch.equal(total, torch.full((6,), ranks * (ranks - 1) / 2)) for total in sums)
    assert sent == [24 * (ranks - 1)] + [24] * (ranks - 1)


def test_a_rank_that_sends_nothing_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(ring, "WAIT", 0.2)
    with pytest.raises(Empty):
        on_threads(2, lambda rank, ranks, send, receive: receive(1 - rank))
