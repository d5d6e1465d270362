"""Nothing is ever saved."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
if os.environ["RANK"] == 0:  # DDP603
    torch.save(torch.ones(1), "model.pt")
dist.destroy_process_group()
