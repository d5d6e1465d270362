"""Each rank takes its part, and then a sampler shares that part out again."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
whole = TensorDataset(torch.randn(96, 5, generator=torch.Generator().manual_seed(0)))
mine = Subset(whole, list(range(rank * 96 // size, (rank + 1) * 96 // size)))
sampler = DistributedSampler(mine, shuffle=True)  # DDP203
loader = DataLoader(mine, batch_size=6, sampler=sampler)
model = DDP(nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
dist.destroy_process_group()
