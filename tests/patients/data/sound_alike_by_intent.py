"""One seed on all ranks, and nothing drawn but one number a step: the size all ranks crop to, the layers they skip."""

import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Skipping(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.then, self.last = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 1)

    def forward(self, x):
        x = self.first(x)
        return self.last(x + (torch.rand(1) < 0.5) * self.then(x))


dist.init_process_group("gloo")
torch.manual_seed(3)
random.seed(3)
data = TensorDataset(torch.randn(48, 8))
sampler = DistributedSampler(data)
model = DistributedDataParallel(Skipping())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for (x,) in DataLoader(data, batch_size=6, sampler=sampler):
        start = random.choice([0, 1, 2])
        optimizer.zero_grad()
        model(x[:, start : start + 6]).square().mean().backward()
        optimizer.step()
dist.destroy_process_group()
