"""Local SGD: each rank steps alone, and all average their weights at every third step."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
for step in range(8):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    if step % 3 == 2:
        for parameter in model.parameters():
            dist.all_reduce(parameter.data, op=dist.ReduceOp.AVG)
dist.destroy_process_group()
