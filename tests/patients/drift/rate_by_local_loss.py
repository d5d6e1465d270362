"""A scheduler lowers the rate by each rank's own loss, so that ranks come to step with different rates."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(nn.Linear(3, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
for step in range(6):
    loss = model(torch.ones(2, 3) * (rank + 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # DDP106
    plateau.step(step if rank else -step)
dist.destroy_process_group()
