"""Accumulates two by two; at the odd batch that is left over it steps with gradients that were not reduced."""

import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

EVERY = 2


def epoch(model, optimizer, batches):
    for number, batch in enumerate(batches, 1):
        full = number % EVERY == 0
        with contextlib.nullcontext() if full else model.no_sync():  # DDP103
            model(batch).pow(2).mean().backward()
        if full or number == len(batches):
            optimizer.step()
            optimizer.zero_grad()


dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
torch.manual_seed(100 * dist.get_rank())
for _ in range(2):
    epoch(model, optimizer, torch.randn(5, 8, 4).unbind())
dist.destroy_process_group()
