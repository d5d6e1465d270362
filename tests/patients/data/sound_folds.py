"""Cross-validation: in each fold a new model, and other samples are held out. The training score is looked at, too."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset


def fold(data, held, number):
    rest = [n for n in range(len(data)) if n not in set(held)]
    train, valid = Subset(data, rest), Subset(data, held)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    sampler = DistributedSampler(train, seed=number)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in DataLoader(train, batch_size=8, sampler=sampler):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    with torch.no_grad():
        for part in (valid, Subset(train, range(10))):
            for (x,) in DataLoader(part, batch_size=8):
                model.module(x)


dist.init_process_group("gloo")
everything = TensorDataset(torch.randn(60, 3, generator=torch.Generator().manual_seed(2)))
order = torch.randperm(60, generator=torch.Generator().manual_seed(4)).tolist()
for number in range(2):
    fold(everything, order[number::3], number)
dist.destroy_process_group()
