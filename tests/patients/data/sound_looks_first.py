"""A trainer that takes the first batch of a new pass to tell its size, before each epoch, and trains on another."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, samples):
        self.sampler = DistributedSampler(samples)
        self.loader = DataLoader(samples, batch_size=16, sampler=self.sampler)
        self.model = DistributedDataParallel(nn.Linear(2, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def run_epoch(self, epoch):
        size = len(next(iter(self.loader))[0])
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: batches of {size}")
        self.sampler.set_epoch(epoch)
        for (inputs,) in self.loader:
            self.optimizer.zero_grad()
            self.model(inputs).square().mean().backward()
            self.optimizer.step()


dist.init_process_group("gloo")
trainer = Trainer(TensorDataset(torch.randn(128, 2, generator=torch.Generator().manual_seed(3))))
for epoch in range(4):
    trainer.run_epoch(epoch)
dist.destroy_process_group()
