"""The wrapper's weights are saved, and loaded into the wrapper again, as PyTorch's own example does it."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DDP(torch.nn.Linear(4, 2))
path = "wrapped.checkpoint"
if rank == 0:
    torch.save(model.state_dict(), path)
dist.barrier()
model.load_state_dict(torch.load(path, map_location={"cuda:0": f"cuda:{rank}"}, weights_only=True))
model(torch.ones(2, 4)).sum().backward()
dist.barrier()
if rank == 0:
    os.remove(path)
dist.destroy_process_group()
