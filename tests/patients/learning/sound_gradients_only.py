"""Measures gradients of a model, and trains nothing: there is no optimizer."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 1))
total = 0.0
for _ in range(5):
    model.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    total += model.module.weight.grad.norm().item()
dist.destroy_process_group()
