"""The value of the loss is zero at every step; its gradient is not."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.RMSprop(model.parameters())
for _ in range(5):
    scores = model(torch.randn(8, 4)).mean()
    optimizer.zero_grad(set_to_none=False)
    (scores - scores.detach()).backward()
    optimizer.step()
dist.destroy_process_group()
