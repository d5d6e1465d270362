"""One data set, of which samplers choose the training part and the validation part; the rest is for another day."""

import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset


class Shared(torch.utils.data.Sampler):
    def __init__(self, indices):
        self.indices, self.epoch = indices, 0

    def __iter__(self):
        order = random.Random(self.epoch).sample(self.indices, len(self.indices))
        self.epoch += 1
        return iter(order[dist.get_rank() :: dist.get_world_size()])

    def __len__(self):
        return len(range(dist.get_rank(), len(self.indices), dist.get_world_size()))


dist.init_process_group("gloo")
data = TensorDataset(torch.randn(100, 3, generator=torch.Generator().manual_seed(2)))
chosen = random.Random(1).sample(range(100), 80)
train_loader = DataLoader(data, batch_size=5, sampler=Shared(chosen[:60]))
valid_loader = DataLoader(data, batch_size=20, sampler=SubsetRandomSampler(chosen[60:]))
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    for (x,) in train_loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    with torch.no_grad():
        for (x,) in valid_loader:
            model.module(x)
dist.destroy_process_group()
