"""Rank 0 saves, all wait, all load: in each epoch, over the same file."""

import json

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    optimizer.zero_grad()
    model(torch.ones(8, 4)).square().mean().backward()
    optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")
        with open("log.txt", "a") as log:
            log.write(f"{epoch}\n")
        with open("best.json", "w") as file:
            json.dump({"epoch": epoch}, file)
    dist.barrier()
    model.module.load_state_dict(torch.load("model.pt"))
    with open("best.json") as file:
        assert json.load(file)["epoch"] == epoch
    dist.barrier()
dist.destroy_process_group()
