"""Workers flip samples by Python's generator; the workers' seeds come from torch's, which is the same on all ranks."""

import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Flipped(TensorDataset):
    def __getitem__(self, at):
        (x,) = super().__getitem__(at)
        return x.flip(0) if random.random() < 0.5 else x


dist.init_process_group("gloo")
data = Flipped(torch.rand(48, 3, generator=torch.Generator().manual_seed(6)))
torch.manual_seed(99)  # DDP207
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=6, sampler=sampler, num_workers=2)
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
dist.destroy_process_group()
