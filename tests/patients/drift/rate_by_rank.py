"""The learning rate is scaled by the rank, where the number of ranks was meant."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def make(rank):
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Linear(2, 2))
    return model, torch.optim.SGD(model.parameters(), lr=0.01 * (rank + 1))  # DDP106


dist.init_process_group("gloo")
model, optimizer = make(dist.get_rank())
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 2)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
