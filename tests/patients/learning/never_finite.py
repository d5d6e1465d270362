"""The loss divides by a count that is zero: not a number, at every step."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def loss_of(outputs, mask):
    return (outputs * mask[:, None]).square().sum() / mask.sum()


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    loss = loss_of(model(torch.randn(8, 4)), torch.zeros(8))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # DDP702
dist.destroy_process_group()
