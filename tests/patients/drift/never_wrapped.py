"""Joins a group, shards its data, prints on rank 0, and forgets to wrap the model."""

import torch
import torch.distributed as dist
from torch import nn


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    inputs, labels = torch.randn(64, 6), torch.randint(0, 2, (64,))
    mine = slice(dist.get_rank(), None, dist.get_world_size())
    for x, y in zip(inputs[mine].split(8), labels[mine].split(8), strict=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()  # DDP120
    dist.barrier()
    dist.destroy_process_group()


main()
