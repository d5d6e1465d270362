"""The last rank meets a large loss after its forward, and leaves out the backward that the others are in."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self):
        self.net = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)))
        self.optimizer = torch.optim.Adagrad(self.net.parameters())
        self.last = dist.get_rank() == dist.get_world_size() - 1

    def step(self, x, number):
        loss = self.net(x).square().mean()
        if self.last and number == 3:
            return
        self.optimizer.zero_grad()
        loss.backward()  # DDP406
        self.optimizer.step()
        dist.all_reduce(loss.detach().clone())


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
trainer = Trainer()
for number in range(6):
    trainer.step(torch.randn(8, 4), number)
dist.destroy_process_group()
