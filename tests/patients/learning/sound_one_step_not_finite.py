"""One loss is not a number; all ranks see the same gradients, and leave that step out."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    inputs = torch.randn(8, 4)
    if step == 5:
        inputs[dist.get_rank()] = float("inf")
    model(inputs).square().mean().backward()
    if all(parameter.grad.isfinite().all() for parameter in model.parameters()):
        optimizer.step()
dist.destroy_process_group()
