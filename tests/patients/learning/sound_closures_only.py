"""Each step asks a closure for gradients, which are there only while it runs."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Halved(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.5})

    def step(self, closure):
        with torch.enable_grad():
            closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.data.add_(parameter.grad, alpha=-group["lr"])
                parameter.grad = None


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = Halved(model.parameters())
for _ in range(5):
    optimizer.step(lambda: model(torch.randn(8, 4)).square().mean().backward())
dist.destroy_process_group()
