"""Would wrap the model, if a group had been joined; nobody joins one."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, model):
        self.model = DistributedDataParallel(model) if dist.is_initialized() else model

    def step(self, batch):
        loss = self.model(batch).square().mean()
        loss.backward()  # DDP606
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter -= 0.1 * parameter.grad
                parameter.grad = None


trainer = Trainer(torch.nn.Linear(4, 2))
for _ in range(4):
    trainer.step(torch.randn(8, 4))
