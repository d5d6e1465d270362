"""Local SGD as torch has it: a hook that reduces nothing after the first steps, an optimizer that averages weights."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 2))
groups = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
state = PostLocalSGDState(process_group=None, subgroup=groups[dist.get_rank()], start_localSGD_iter=2)
model.register_comm_hook(state, post_localSGD_hook)
averager = PeriodicModelAverager(period=2, warmup_steps=2)
optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), averager)
torch.manual_seed(dist.get_rank())
for _ in range(9):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
