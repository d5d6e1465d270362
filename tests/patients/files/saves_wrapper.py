"""Rank 0 saves the wrapper's own state in a larger checkpoint."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(2):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).square().mean().backward()
    optimizer.step()
    if dist.get_rank() == 0:
        checkpoint = {"epoch": epoch, "nets": {"model": model.state_dict()}}
        torch.save(checkpoint, f"epoch{epoch}.pt")  # DDP503
dist.destroy_process_group()
