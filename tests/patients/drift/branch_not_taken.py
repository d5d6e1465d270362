"""A branch is left out in the first step: the wrapper waits for its gradients and reduces nothing else."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.side, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x, side):
        x = self.stem(x)
        return self.out(x + self.side(x) if side else x)


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(Branches())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4), side=step > 0).square().mean().backward()  # DDP109
    optimizer.step()
dist.destroy_process_group()
