"""The loss has weights of its own, which the optimizer trains and no wrapper averages."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, outputs):
        return (self.scale * outputs - 1).square().mean()


dist.init_process_group("gloo")
model, criterion = DistributedDataParallel(nn.Linear(4, 3)), Weighted()
optimizer = torch.optim.SGD([*model.parameters(), *criterion.parameters()], lr=0.1)
torch.manual_seed(dist.get_rank())
for _ in range(4):
    optimizer.zero_grad()
    criterion(model(torch.randn(8, 4))).backward()
    optimizer.step()  # DDP123
dist.destroy_process_group()
