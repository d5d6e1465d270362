"""No wrapper: weights are sent from rank 0, and all gradients averaged by hand."""

import torch
import torch.distributed as dist
from torch import nn


def average(model):
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
for parameter in model.parameters():
    dist.broadcast(parameter.data, 0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (model(torch.randn(8, 4)) - 1).square().mean().backward()
    average(model)
    optimizer.step()
dist.destroy_process_group()
