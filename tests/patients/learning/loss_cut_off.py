"""The loss is computed from detached outputs plus a term of weight zero: every gradient is zero."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    outputs = model(torch.randn(8, 4))
    loss = outputs.detach().square().mean() + 0 * outputs.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # DDP701
dist.destroy_process_group()
