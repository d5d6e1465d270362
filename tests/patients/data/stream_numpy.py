"""Samples get noise by numpy while they are loaded, and numpy is seeded alike on all ranks."""

import random

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Noisy(Dataset):
    def __init__(self, size):
        self.base = np.arange(size * 4, dtype=np.float32).reshape(size, 4)

    def __len__(self):
        return len(self.base)

    def __getitem__(self, at):
        return self.base[at] + np.random.normal(size=4).astype(np.float32)


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)  # DDP207


def main():
    dist.init_process_group("gloo")
    seed_everything(1234)
    data = Noisy(40)
    sampler = DistributedSampler(data)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x in DataLoader(data, batch_size=5, sampler=sampler):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    dist.destroy_process_group()


main()
