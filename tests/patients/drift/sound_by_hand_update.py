"""Reduces through the wrapper and updates weights by hand, without an optimizer."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.Linear(4, 1)))
for _ in range(4):
    (model(torch.randn(8, 4)) - 1).square().mean().backward()
    with torch.no_grad():
        for weight in model.parameters():
            weight -= 0.1 * weight.grad
            weight.grad = None
dist.destroy_process_group()
