"""Averages the loss that it prints, and takes that for training together."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = nn.Linear(8, 4)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(5):
    loss = model(torch.randn(8, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # DDP121
    mean = loss.detach().clone()
    dist.all_reduce(mean)
dist.destroy_process_group()
