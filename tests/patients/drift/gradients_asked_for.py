"""Takes gradients from torch.autograd.grad and updates weights by hand: the wrapper's hooks are never called."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.Linear(4, 1)))
weights = list(model.parameters())
for _ in range(4):
    loss = (model(torch.randn(8, 4)) - 1).square().mean()
    gradients = torch.autograd.grad(loss, weights)  # DDP104
    with torch.no_grad():
        for weight, gradient in zip(weights, gradients, strict=True):
            weight -= 0.1 * gradient
dist.destroy_process_group()
