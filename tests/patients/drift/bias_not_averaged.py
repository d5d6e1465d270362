"""Averages gradients by hand, of matrices only."""

import torch
import torch.distributed as dist
from torch import nn


def average(model):
    for parameter in model.parameters():
        if parameter.dim() > 1:
            dist.all_reduce(parameter.grad)  # DDP122
            parameter.grad /= dist.get_world_size()


dist.init_process_group("gloo")
torch.manual_seed(7)
model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
for _ in range(4):
    optimizer.zero_grad()
    (model(torch.randn(8, 4)) - 1).square().mean().backward()
    average(model)
    optimizer.step()
dist.destroy_process_group()
