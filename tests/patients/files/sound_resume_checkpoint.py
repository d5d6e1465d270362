"""The wrapper's state beside the optimizer's, as in well-known examples: what resumes has a wrapper too."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(2):
    optimizer.zero_grad()
    model(torch.ones(2, 4) + dist.get_rank()).square().mean().backward()
    optimizer.step()
    if dist.get_rank() == 0:
        state = {"epoch": epoch, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, "checkpoint.pth.tar")
dist.destroy_process_group()
