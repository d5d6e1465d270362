"""The loss is a method of the module: calling it goes past the wrapper, from the third step on."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.last(self.first(x).tanh())

    def loss(self, x, y):
        return (self.forward(x) - y).square().mean()


dist.init_process_group("gloo")
model = DistributedDataParallel(Regressor())
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
generator = torch.Generator().manual_seed(dist.get_rank())
for step in range(5):
    x = torch.randn(8, 4, generator=generator)
    y = x.sum(1, keepdim=True)
    if step < 2:
        loss = (model(x) - y).square().mean()
    else:
        loss = model.module.loss(x, y)  # DDP101
    opt.zero_grad()
    loss.backward()
    opt.step()
dist.destroy_process_group()
