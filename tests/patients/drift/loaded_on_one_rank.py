"""Rank 0 alone loads a checkpoint, after wrapping: the others keep the weights that they began with."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def resume(model, rank):
    if rank == 0:
        saved = {name: value * 0.5 for name, value in model.state_dict().items()}
        model.load_state_dict(saved)  # DDP107


def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    resume(model, dist.get_rank())
    torch.manual_seed(dist.get_rank())
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(4, 4)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()


main()
