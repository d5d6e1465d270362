"""Processes of other kinds: a loader's workers, forked and spawned, a pool for data, and one that computes."""

import multiprocessing

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset


def square(x):
    return x * x


def main():
    dist.init_process_group("gloo")
    with multiprocessing.Pool(2) as pool:
        assert pool.map(square, range(3)) == [0, 1, 4]
    process = multiprocessing.get_context("spawn").Process(target=square, args=(3,))
    process.start()
    process.join()
    assert process.exitcode == 0
    own = torch.arange(4.0) + 4 * dist.get_rank()
    for (batch,) in DataLoader(TensorDataset(own), 2, num_workers=1):
        dist.all_reduce(batch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
