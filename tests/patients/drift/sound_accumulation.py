"""Accumulates under no_sync and reduces at the last micro-batch of each step; the odd one left over steps too."""

import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def epoch(model, optimizer, batches, every=2):
    for number, batch in enumerate(batches, 1):
        last = number % every == 0 or number == len(batches)
        with contextlib.nullcontext() if last else model.no_sync():
            model(batch).pow(2).mean().backward()
        if last:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            optimizer.zero_grad()


dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
torch.manual_seed(100 * dist.get_rank())
for _ in range(3):
    epoch(model, optimizer, torch.randn(5, 8, 4).unbind())
    schedule.step()
dist.destroy_process_group()
