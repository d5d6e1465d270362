"""Averages gradients by hand at every other step, and steps at each."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters())
torch.manual_seed(dist.get_rank())
for step in range(6):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    if step % 2 == 0:
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)  # DDP122
    optimizer.step()
dist.destroy_process_group()
