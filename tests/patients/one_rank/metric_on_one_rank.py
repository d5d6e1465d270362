"""A helper that adds up is right where all call it; rank 0 calls it once more, for its log."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def mean(value):
    value = torch.tensor(float(value))
    dist.all_reduce(value)
    return value.item() / dist.get_world_size()


def train(model, optimizer, log):
    for step in range(5):
        loss = model(torch.randn(4, 3)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average = mean(loss)
        log and step == 2 and print(average, mean(step))  # DDP403


dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(3, 1))
train(model, torch.optim.SGD(model.parameters(), lr=0.1), log=dist.get_rank() == 0)
dist.destroy_process_group()
