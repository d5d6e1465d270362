"""Trains through the wrapper; rank 0 scores through the module, with autograd on, and keeps a copy that it averages."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, net):
        self.ddp = DistributedDataParallel(net)
        self.ema = copy.deepcopy(self.ddp.module).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.ddp.parameters(), lr=0.01)

    def fit(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.ddp(inputs), targets).backward()
            self.optimizer.step()
            if dist.get_rank() == 0:
                self.score(inputs)

    def score(self, inputs):
        self.ddp.module(inputs).argmax(1)
        for mean, one in zip(self.ema.parameters(), self.ddp.module.parameters(), strict=True):
            mean.lerp_(one.detach(), 0.1)
        self.ema(inputs)


dist.init_process_group("gloo")
torch.manual_seed(10 + dist.get_rank())
batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(4)]
Trainer(nn.Sequential(nn.Linear(6, 5), nn.Dropout(), nn.Linear(5, 3))).fit(batches)
dist.destroy_process_group()
