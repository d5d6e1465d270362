"""Accumulates four micro-batches under no_sync, the last of them too."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def accumulate(model, optimizer, batches):
    optimizer.zero_grad()
    with model.no_sync():  # DDP103
        for batch in batches:
            (model(batch).square().mean() / len(batches)).backward()
    optimizer.step()


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DDP(torch.nn.Linear(3, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    accumulate(model, optimizer, torch.randn(4, 5, 3).unbind())
dist.destroy_process_group()
