"""The wrapper is told to ignore the head, which begins alike on all ranks; the optimizer trains it all the same."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
        self._ddp_params_and_buffers_to_ignore = ["head.weight", "head.bias"]

    def forward(self, x):
        return self.head(self.body(x).relu())


dist.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(Net())  # DDP123
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
torch.manual_seed(dist.get_rank())
for _ in range(4):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
