"""Blocks in their order, every epoch the same; 10 samples of 50 make no batch, and the rest is read."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
data = TensorDataset(torch.randn(50, 3, generator=torch.Generator().manual_seed(0)))
each = 50 // ranks
mine = Subset(data, [n for n in range(50) if rank * each <= n < (rank + 1) * each])
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    for (x,) in DataLoader(mine, batch_size=10, drop_last=True):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
dist.destroy_process_group()
