"""An ensemble: each rank trains a member of its own, and all their predictions are gathered at the end."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
member = nn.Linear(4, 2)
optimizer = torch.optim.SGD(member.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    member(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
outputs = member(torch.ones(16, 4)).detach()
everyones = [torch.empty_like(outputs) for _ in range(dist.get_world_size())]
dist.all_gather(everyones, outputs)
dist.destroy_process_group()
