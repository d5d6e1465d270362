"""A gradient scaler leaves out its first steps, on all ranks alike, until its scale is right."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
for _ in range(8):
    optimizer.zero_grad()
    scaler.scale((model(torch.randn(8, 4)) * 8).square().mean()).backward()
    scaler.step(optimizer)
    scaler.update()
dist.destroy_process_group()
