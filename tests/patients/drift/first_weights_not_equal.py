"""Averages all gradients by hand, of models that were never equal."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    flat = torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    at = 0
    for parameter in model.parameters():
        parameter.grad.copy_(flat[at : at + parameter.numel()].view_as(parameter))
        at += parameter.numel()
    optimizer.step()  # DDP122
dist.destroy_process_group()
