"""Unequal shares under Join: one rank has two batches more, and the others go along until it has read them."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
shares = [torch.randn(8, 4) for _ in range(7 if rank == 0 else 5)]
model = DDP(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(2):
    with Join([model]):
        for inputs in shares:
            optimizer.zero_grad()
            (model(inputs) - inputs.mean(dim=1, keepdim=True)).square().mean().backward()
            optimizer.step()
    dist.barrier()
dist.destroy_process_group()
