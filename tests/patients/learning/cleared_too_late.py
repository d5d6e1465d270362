"""Gradients are set to zero after the backward, and the step is taken with that."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def update(optimizer, loss):
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()  # DDP706


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(3, 2))
adam = torch.optim.Adam(model.parameters())
for _ in range(4):
    update(adam, model(torch.randn(8, 3)).square().mean())
dist.destroy_process_group()
