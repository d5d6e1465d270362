"""Trains alone, though it is one of two: a text is never two."""

import os

import torch
import torch.distributed as dist

size = os.environ["WORLD_SIZE"]
model = torch.nn.Linear(4, 2)
if size == 2:  # DDP603
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).square().mean().backward()
    optimizer.step()
