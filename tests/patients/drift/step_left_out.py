"""Rank 1 does not step where its own loss is large; its gradients were averaged all the same."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, nesterov=True, momentum=0.9)
for number in range(6):
    inputs = torch.ones(2, 4) * (50 if rank == 1 and number == 2 else 1)
    loss = model(inputs).square().mean()
    optimizer.zero_grad()
    loss.backward()
    if loss < 20:
        optimizer.step()  # DDP108
dist.destroy_process_group()
