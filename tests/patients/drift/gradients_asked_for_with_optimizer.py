"""Sets each .grad from torch.autograd.grad, then lets an optimizer step."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def set_gradients(model, loss):
    found = torch.autograd.grad(loss, list(model.parameters()))  # DDP104
    for parameter, gradient in zip(model.parameters(), found, strict=True):
        parameter.grad = gradient


dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(3, 1))
optimizer = torch.optim.Adagrad(model.parameters())
torch.manual_seed(dist.get_rank())
for _ in range(3):
    set_gradients(model, model(torch.randn(8, 3)).exp().mean())
    optimizer.step()
dist.destroy_process_group()
