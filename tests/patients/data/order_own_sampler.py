"""A sampler written by hand draws its order once, when it is made. Two workers load."""

import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler, TensorDataset


class Mine(Sampler):
    def __init__(self, size):
        order = list(range(size))
        random.Random(9).shuffle(order)
        self.order = order[dist.get_rank() :: dist.get_world_size()]

    def __iter__(self):
        return iter(self.order)

    def __len__(self):
        return len(self.order)


dist.init_process_group("gloo")
data = TensorDataset(torch.linspace(0, 1, 80).reshape(40, 2))
loader = DataLoader(data, 5, sampler=Mine(40), num_workers=2, persistent_workers=True)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(2):
    for (x,) in loader:  # DDP202
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
dist.destroy_process_group()
