"""The rate is too small for what a float32 can hold next to weights of size one: each step rounds to nothing."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = nn.Linear(6, 3, bias=False)
nn.init.uniform_(model.weight, 1, 2)
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-12)
for _ in range(6):
    optimizer.zero_grad()
    model(torch.randn(8, 6)).square().mean().backward()
    optimizer.step()  # DDP704
dist.destroy_process_group()
