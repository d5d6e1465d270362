"""LBFGS computes its gradients itself, by a closure, several times a step."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
for _ in range(3):
    inputs = torch.randn(16, 4)

    def closure(inputs=inputs):
        optimizer.zero_grad()
        loss = (model(inputs) - 1).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
dist.destroy_process_group()
