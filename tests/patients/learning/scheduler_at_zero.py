"""A warm-up in whole numbers: what the optimizer is given is multiplied with 0."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(3, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.25)  # DDP704
warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step // 500)
for _ in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 3)).square().mean().backward()
    optimizer.step()
    warm_up.step()
dist.destroy_process_group()
