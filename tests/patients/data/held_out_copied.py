"""The part that is held out is in a data set of its own, but was not taken out of the other."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Table(Dataset):
    """Some rows of a table, copied."""

    def __init__(self, first, last):
        self.rows = torch.randn(240, 6, generator=torch.Generator().manual_seed(8))[first:last].clone()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at, :5], self.rows[at, 5:]


dist.init_process_group("gloo")
train, check = Table(0, 240), Table(0, 40)
sampler = DistributedSampler(train)
model = DistributedDataParallel(nn.Linear(5, 1))
sgd = torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for inputs, targets in DataLoader(train, 20, sampler=sampler):
        sgd.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        sgd.step()
    model.eval()
    with torch.no_grad():
        for inputs, targets in DataLoader(check, 10):  # DDP206
            nn.functional.mse_loss(model.module(inputs), targets)
    model.train()
dist.destroy_process_group()
