"""Each rank scores every n-th sample, nothing padded; the samples' losses are summed, with their number."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
draw = torch.Generator().manual_seed(0)
train, test = (TensorDataset(torch.randn(n, 3, generator=draw)) for n in (48, 21))
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
sampler = DistributedSampler(train)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for (x,) in DataLoader(train, 8, sampler=sampler):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    sums = torch.zeros(2)
    for (x,) in DataLoader(Subset(test, range(rank, 21, ranks)), 4):
        sums += torch.tensor([model.module(x).sum().item(), len(x)])
    dist.all_reduce(sums)
dist.destroy_process_group()
