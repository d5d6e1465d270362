"""Groups of some ranks, each used by its members alone, as often as they like, and by one made locally."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
first, rest = dist.new_group([0]), dist.new_group(list(range(1, size)))
mine = first if rank == 0 else rest
for _ in range(2 + rank // size):
    dist.all_reduce(torch.ones(3), group=mine)
if rank == 0:
    dist.barrier(group=first)
    dist.all_reduce(torch.ones(1), group=first)
if rank > 0:
    dist.broadcast(torch.ones(2), src=1, group=rest)
second = dist.new_group()
dist.all_reduce(torch.ones(1), group=second)
dist.all_reduce(torch.ones(2))
local = dist.new_group([size - 1], use_local_synchronization=True) if rank == size - 1 else None
if local:
    dist.barrier(group=local)
dist.barrier()
dist.destroy_process_group()
