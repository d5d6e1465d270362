"""Evaluation is shared out by a sampler, which pads 21 samples to 22 (on two ranks)."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def samples(count, seed):
    x = torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, (x.sum(dim=1) > 0).long())


@torch.no_grad()
def accuracy(model, loader):
    hits = torch.zeros(2)
    for x, y in loader:
        hits += torch.tensor([(model(x).argmax(dim=1) == y).sum(), len(y)])
    dist.all_reduce(hits)
    return (hits[0] / hits[1]).item()


dist.init_process_group("gloo")
train_set, test_set = samples(48, 0), samples(21, 1)
train_sampler = DistributedSampler(train_set)
train_loader = DataLoader(train_set, batch_size=8, sampler=train_sampler)
test_loader = DataLoader(test_set, batch_size=4, sampler=DistributedSampler(test_set, shuffle=False))  # DDP204
model = DDP(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    train_sampler.set_epoch(epoch)
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    accuracy(model.module, test_loader)
dist.destroy_process_group()
