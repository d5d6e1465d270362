"""Ranks take different branches, with find_unused_parameters; part of the model DDP is told to ignore."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.side, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        self.own = nn.Parameter(torch.zeros(4))
        self._ddp_params_and_buffers_to_ignore = ["own"]

    def forward(self, x, side):
        x = self.stem(x) + self.own
        return self.out(x + self.side(x) if side else x)


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(Branches(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 4), side=(step + dist.get_rank()) % 2 == 0).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
