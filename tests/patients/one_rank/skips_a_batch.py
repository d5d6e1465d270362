"""A rank that meets a batch that is not finite leaves it out, and so takes one step less than the others."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def batches(rank):
    for number in range(5):
        x = torch.randn(4, 6)
        if rank == 1 and number == 2:
            x[0, 0] = float("nan")
        yield x


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
net = DDP(torch.nn.Linear(6, 3))
opt = torch.optim.Adam(net.parameters())
for x in batches(dist.get_rank()):
    if not x.isfinite().all():
        continue  # DDP406
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
dist.barrier()
dist.destroy_process_group()
