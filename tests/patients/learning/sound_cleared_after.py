"""Gradients are cleared right after each step, and before each backward too; one model has two optimizers."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)))
slow = torch.optim.SGD(model.module[0].parameters(), lr=0.01)
fast = torch.optim.SGD(model.module[1].parameters(), lr=0.1)
for _ in range(6):
    model.zero_grad()
    model(torch.randn(8, 3)).square().mean().backward()
    for optimizer in slow, fast:
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
