"""The backbone is frozen, then wrapped, and unfrozen after two steps."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build():
    backbone, head = nn.Linear(5, 4), nn.Linear(4, 2)
    backbone.requires_grad_(False)
    return nn.ModuleDict({"backbone": backbone, "head": head})


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = build()

    def forward(self, x):
        return self.parts["head"](self.parts["backbone"](x).relu())


def train(model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=False)
        model(torch.randn(6, 5)).square().sum().backward()
        optimizer.step()


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(Net())  # DDP102
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
train(model, optimizer, 2)
for parameter in model.module.parts["backbone"].parameters():
    parameter.requires_grad = True
train(model, optimizer, 3)
dist.destroy_process_group()
