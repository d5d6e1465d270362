"""Cross-validation: a new model for each fold, and epochs that are counted from 0 in each."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

FOLDS = 4

dist.init_process_group("gloo")
x = torch.randn(120, 2, generator=torch.Generator().manual_seed(0))
samples = TensorDataset(x, x.sum(dim=1, keepdim=True))
for fold in range(FOLDS):
    held = set(range(fold, len(samples), FOLDS))
    part = Subset(samples, [index for index in range(len(samples)) if index not in held])
    sampler = DistributedSampler(part)
    loader = DataLoader(part, batch_size=15, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    mine = torch.tensor(sorted(held)[dist.get_rank() :: dist.get_world_size()])
    with torch.no_grad():
        error = nn.functional.mse_loss(model.module(x[mine]), samples.tensors[1][mine], reduction="sum")
    dist.all_reduce(error)
dist.destroy_process_group()
