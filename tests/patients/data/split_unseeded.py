"""Each rank draws its own split into training and validation samples."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
draw = torch.Generator().manual_seed(0)
full = TensorDataset(torch.randn(100, 6, generator=draw), torch.randint(0, 3, (100,), generator=draw))
train_set, val_set = random_split(full, [80, 20])  # DDP205
sampler = DistributedSampler(train_set)
loader = DataLoader(train_set, batch_size=8, sampler=sampler)
val_loader = DataLoader(val_set, batch_size=20)
model = DDP(nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in val_loader:
            nn.functional.cross_entropy(model.module(x), y).item()
dist.destroy_process_group()
