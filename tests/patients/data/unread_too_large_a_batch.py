"""A rank's share makes no whole batch, and drop_last drops it: there is not one step."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
data = TensorDataset(torch.randn(60, 2, generator=torch.Generator().manual_seed(0)))
sampler = DistributedSampler(data)  # DDP203
loader = DataLoader(data, batch_size=64, sampler=sampler, drop_last=True)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
dist.destroy_process_group()
