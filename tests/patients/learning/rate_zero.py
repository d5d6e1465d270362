"""A schedule that multiplies the learning rate by zero at every step."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self):
        self.model = DistributedDataParallel(nn.Linear(4, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)  # DDP704
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: step // 1000)

    def step(self, inputs):
        self.optimizer.zero_grad()
        self.model(inputs).square().mean().backward()
        self.optimizer.step()
        self.schedule.step()


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
trainer = Trainer()
for _ in range(5):
    trainer.step(torch.randn(8, 4))
dist.destroy_process_group()
