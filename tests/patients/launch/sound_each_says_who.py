"""All ranks print, and each says which it is."""

import logging
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(levelname)s [GPU{rank}] %(message)s")
for epoch in range(3):
    dist.all_reduce(torch.ones(1))
    print(f"[rank {rank}] epoch {epoch} | loss {0.5 / (1 + epoch):.3f}")
    logging.info("epoch %d", epoch)  # noqa: LOG015
print("worker", rank + 1, "of", world_size, "has ended")
print(f"{os.environ['LOCAL_RANK']}/{world_size}: bye")
print("the first says this" if rank == 0 else f"and rank {rank} says that")
dist.destroy_process_group()
