"""As a model's own zero_grad leaves it: gradients that are there, and zero, at each step."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    nn.functional.cross_entropy(model(torch.randn(8, 5)), torch.randint(2, (8,))).backward()
    model.zero_grad(set_to_none=False)
    optimizer.step()  # DDP706
dist.destroy_process_group()
