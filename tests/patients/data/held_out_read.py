"""The last fifth is held out for validation, but training reads nine tenths: one tenth is in both."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

dist.init_process_group("gloo")
data = TensorDataset(torch.randn(100, 3, generator=torch.Generator().manual_seed(2)))
train = Subset(data, range(90))
valid = Subset(data, range(80, 100))  # DDP206
sampler = DistributedSampler(train, drop_last=True)
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for (x,) in DataLoader(train, batch_size=9, sampler=sampler):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        with torch.no_grad():
            for (x,) in DataLoader(valid, batch_size=20):
                model.module(x)
dist.destroy_process_group()
