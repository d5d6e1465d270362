"""Two loaders, zipped, the shorter one begun anew; a validation batch now and then from an iterator that is kept."""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def loader_of(data, shared):
    return DataLoader(data, batch_size=4, sampler=DistributedSampler(data) if shared else None)


def endless(loader):
    for epoch in itertools.count():
        loader.sampler.set_epoch(epoch)
        yield from loader


dist.init_process_group("gloo")
draw = torch.Generator().manual_seed(1)
labelled, other, valid = (TensorDataset(torch.randn(n, 3, generator=draw)) for n in (48, 24, 40))
first, second = endless(loader_of(labelled, True)), endless(loader_of(other, True))
checks = itertools.cycle(loader_of(valid, False))
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(20):
    (x,), (z,) = next(first), next(second)
    optimizer.zero_grad()
    (model(x).square().mean() + model(z).abs().mean()).backward()
    optimizer.step()
    if step % 3 == 2:
        with torch.no_grad():
            model.module(next(checks)[0])
dist.destroy_process_group()
