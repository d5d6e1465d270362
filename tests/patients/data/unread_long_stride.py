"""A rank takes every (2 * world_size)-th sample, from a list of indices given as the sampler."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
points = [torch.tensor([n / 100, 1.0]) for n in range(100)]
loader = DataLoader(points, batch_size=5, sampler=list(range(rank, 100, 2 * size)))  # DDP203
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    for batch in loader:
        optimizer.zero_grad()
        model(batch).abs().mean().backward()
        optimizer.step()
dist.destroy_process_group()
