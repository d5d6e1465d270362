"""Adds noise to the weights now and then, from a generator that is another on each rank."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(5, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    loss = model(torch.randn(4, 5)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # DDP107 (the last line before it)
    if step % 3 == 2:
        with torch.no_grad():
            model.module.weight.add_(torch.randn(1, 5), alpha=0.01)
dist.destroy_process_group()
