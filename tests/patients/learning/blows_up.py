"""The rate is far too large: after some steps nothing is finite any more."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e12)
    for _ in range(12):
        optimizer.zero_grad()
        (model(torch.randn(16, 3)) - 1).pow(2).mean().backward()
        optimizer.step()  # DDP702
    dist.destroy_process_group()


main()
