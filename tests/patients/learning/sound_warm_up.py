"""The rate rises from zero, and the first gradients are zero in parts: later steps learn."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base, self.down, self.up = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(2, 4)
        self.base.requires_grad_(False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(Adapted())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0, step - 3) / 10)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    schedule.step()
dist.destroy_process_group()
