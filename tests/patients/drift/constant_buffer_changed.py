"""A mask, kept as a buffer that is not broadcast, is drawn anew after wrapping, on each rank by itself."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 2)
        self.register_buffer("mask", torch.ones(16))

    def forward(self, x):
        return self.fc(x * self.mask)


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(Masked(), broadcast_buffers=False)
model.module.mask.bernoulli_(0.5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.randn(8, 16)).square().mean().backward()  # DDP111
    optimizer.step()
dist.destroy_process_group()
