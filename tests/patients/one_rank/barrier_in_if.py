"""Rank 0 saves every second step, and calls a barrier behind it, all alone."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def save(model, path):
    torch.save(model.module.state_dict(), path)
    dist.barrier()  # DDP403


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(7 + dist.get_rank())
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)))
    optimizer = torch.optim.RMSprop(model.parameters())
    for step in range(6):
        optimizer.zero_grad()
        model(torch.randn(2, 4)).abs().sum().backward()
        optimizer.step()
        if step % 2 and dist.get_rank() == 0:
            save(model, f"step{step}.pt")
    dist.destroy_process_group()


main()
