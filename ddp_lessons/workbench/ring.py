"""Adding up over all ranks by hand: round a ring, where all send equally much, or naively, all through rank 0."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from queue import Queue

import torch
import torch.distributed as dist

WAIT = 10  # seconds that a thread waits for another


def ring_all_reduce(chunks: list, rank: int, exchange: Callable) -> None:
    """Replace each of a rank's chunks, as many as there are ranks, by the sum over all ranks.

    `exchange(chunk)` hands a chunk to the right neighbour, rank + 1, and returns the one that the left neighbour has
    handed to us. Each rank sends 2 (N - 1) chunks, which is as little as can be: Patarasuk and Yuan, "Bandwidth
    optimal all-reduce algorithms for clusters of workstations", Journal of Parallel and Distributed Computing, 2009.
    """
    ranks = len(chunks)
    for step in range(ranks - 1):  # reduce-scatter: each partial sum grows as it goes round
        mine, came = (rank - step) % ranks, (rank - step - 1) % ranks
        chunks[came] = chunks[came] + exchange(chunks[mine])
    for step in range(ranks - 1):  # all-gather: each full sum goes round to all
        mine, came = (rank - step + 1) % ranks, (rank - step) % ranks
        chunks[came] = exchange(chunks[mine])


def exchange(chunk: torch.Tensor) -> torch.Tensor:
    """Hand a chunk to the right neighbour in the process group; return the one from the left neighbour."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    sending = dist.isend(chunk, (rank + 1) % world_size)  # does not wait: if all did, nobody would receive
    came = torch.empty_like(chunk)
    dist.recv(came, (rank - 1) % world_size)
    sending.wait()
    return came


def all_reduce_at_rank_0(numbers: torch.Tensor, rank: int, ranks: int, send: Callable, receive: Callable) -> object:
    """Return the sum over all ranks, the naive way: rank 0 receives everything, adds, and sends the sum to each."""
    if rank > 0:
        send(0, numbers)
        return receive(0)
    total = numbers + sum(receive(other) for other in range(1, ranks))
    for other in range(1, ranks):
        send(other, total)
    return total


def on_threads(ranks: int, function: Callable) -> tuple[list, list[int]]:
    """Return what `function(rank, ranks, send, receive)` returns on each rank, and how many bytes each has sent.

    The ranks are threads of one process. Raises queue.Empty if one waits in vain for what another should send.
    """
    post = {pair: Queue() for pair in product(range(ranks), repeat=2)}
    sent = [0] * ranks

    def be(rank: int) -> object:
        def send(other: int, numbers: torch.Tensor) -> None:
            sent[rank] += numbers.nbytes
            post[rank, other].put(numbers)

        return function(rank, ranks, send, lambda other: post[other, rank].get(timeout=WAIT))

    with ThreadPoolExecutor(ranks) as pool:
        return list(pool.map(be, range(ranks))), sent
