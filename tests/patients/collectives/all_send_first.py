"""In a ring, every rank sends to its right before it receives from its left: nobody gets further."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mine, theirs = torch.full((1000,), float(rank)), torch.zeros(1000)
dist.send(mine, dst=(rank + 1) % size)  # DDP306
dist.recv(theirs, src=(rank - 1) % size)
dist.destroy_process_group()
