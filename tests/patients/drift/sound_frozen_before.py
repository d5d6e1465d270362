"""The backbone is frozen before wrapping, and wrapped again when it is unfrozen."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = nn.Linear(5, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.backbone(x).relu())


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=False)
        model(torch.randn(6, 5)).square().sum().backward()
        optimizer.step()


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
net = Net()
net.backbone.requires_grad_(False)
train(DistributedDataParallel(net), 3)
net.backbone.requires_grad_(True)
train(DistributedDataParallel(net), 3)
dist.destroy_process_group()
