"""Backward at each batch, and the step is forgotten."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(model, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()  # DDP705


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(5, 5))
train(model, torch.optim.AdamW(model.parameters(), lr=0.1), torch.randn(6, 4, 5))
dist.destroy_process_group()
