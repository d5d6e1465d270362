"""A rank without a file of its own ends; the others wait for it in the next sum."""

import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
files = [f"part{number}" for number in range(size - 1)]
dist.barrier()
if rank >= len(files):
    sys.exit()  # DDP304
count = torch.tensor(len(files[rank]))
for _ in range(3):
    dist.all_reduce(count)
dist.destroy_process_group()
