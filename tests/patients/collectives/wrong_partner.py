"""Rank 0 deals out parts of a batch; the others wait for the last rank's."""

import torch
import torch.distributed as dist


def deal(batch, size):
    for to in range(1, size):
        dist.isend(batch[to].clone(), to)


dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
if rank == 0:
    deal(torch.randn(size, 3), size)
else:
    part = torch.empty(3)
    work = dist.irecv(part, src=(rank + 1) % size if size > 2 else rank - 1, tag=1)  # DDP306
    work.wait()
dist.barrier()
dist.destroy_process_group()
