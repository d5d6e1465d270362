"""A store made by hand works, until a second run wants the same port."""

import os

import torch
import torch.distributed as dist

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
store = dist.TCPStore("127.0.0.1", 29371, world_size, is_master=rank == 0)  # DDP602
dist.init_process_group("gloo", store=store, rank=rank, world_size=world_size)
dist.all_reduce(torch.ones(1))
dist.barrier()
dist.destroy_process_group()
