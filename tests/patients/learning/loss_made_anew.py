"""The loss is a number by the time it is a tensor again: no gradient comes back from it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def loss_of(model, x):
    errors = [model(x).square().mean().item()]
    return torch.tensor(errors, requires_grad=True).sum()


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    loss = loss_of(model, torch.randn(8, 3))
    loss.backward()  # DDP707
    optimizer.step()
dist.destroy_process_group()
