"""A sampler that never ends shares one order after the other out among the ranks; it starts at a step, not an epoch."""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler, TensorDataset


class Endless(Sampler):
    def __init__(self, size):
        self.size = size

    def orders(self):
        draw = torch.Generator().manual_seed(3)
        while True:
            yield from torch.randperm(self.size, generator=draw).tolist()

    def __iter__(self):
        yield from itertools.islice(self.orders(), dist.get_rank(), None, dist.get_world_size())


dist.init_process_group("gloo")
data = TensorDataset(torch.randn(50, 4, generator=torch.Generator().manual_seed(1)))
batches = iter(DataLoader(data, batch_size=4, sampler=Endless(50), num_workers=1))
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(25):
    (x,) = next(batches)
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
