"""Rank 0 evaluates through the wrapper, whose batch norm has buffers, after each epoch."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def evaluate(model, batches):
    model.eval()
    with torch.no_grad():
        losses = [model(x).square().mean().item() for x in batches]  # DDP401
    model.train()
    return sum(losses) / len(losses)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    held_out = [torch.randn(8, 4) for _ in range(3)]
    for _epoch in range(2):
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
        if rank == 0:
            print(evaluate(model, held_out))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
