"""All ranks make the model from one seed, and then each goes on with its own: dropout, noise by numpy, workers."""

import random

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Noisy(Dataset):
    def __init__(self, size):
        self.base = np.arange(size * 4, dtype=np.float32).reshape(size, 4) / size

    def __len__(self):
        return len(self.base)

    def __getitem__(self, at):
        return self.base[at] * random.choice([-1, 1]) + np.random.normal(size=4).astype(np.float32)


dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 1)))
for seed in (random.seed, np.random.seed, torch.manual_seed):
    seed(1 + dist.get_rank())
data = Noisy(48)
sampler = DistributedSampler(data)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x in DataLoader(data, batch_size=6, sampler=sampler, num_workers=2 * epoch):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
dist.destroy_process_group()
