"""A count is an integer where nothing was found, and a float elsewhere; what comes out are odd numbers."""

import torch
import torch.distributed as dist


def found(rank):
    if rank == 0:
        return torch.tensor([0, 0, 0, 0])
    return torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)


def main():
    dist.init_process_group("gloo")
    hits = found(dist.get_rank())
    dist.all_reduce(hits)  # DDP302
    print(hits)
    dist.destroy_process_group()


main()
