"""A DistributedSampler told the epoch, 61 samples (padded), and rank 0 alone tests on everything."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(1)
train_set, test_set = (TensorDataset(torch.randn(n, 6), torch.randint(0, 3, (n,))) for n in (61, 21))
sampler = DistributedSampler(train_set)
loader = DataLoader(train_set, batch_size=8, sampler=sampler)
test_loader = DataLoader(test_set, batch_size=7)
model = DDP(nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        with torch.no_grad():
            for x, y in test_loader:
                nn.functional.cross_entropy(model.module(x), y).item()
dist.destroy_process_group()
