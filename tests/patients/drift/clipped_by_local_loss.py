"""Clips gradients where this rank's own loss is large: what was averaged is no longer equal."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def run(rank):
    net = DistributedDataParallel(nn.Linear(4, 2))
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        loss = net(torch.full((4, 4), 1.0 + 3 * rank)).square().mean()
        sgd.zero_grad()
        loss.backward()
        if rank == 1:
            nn.utils.clip_grad_norm_(net.parameters(), 0.01)
        sgd.step()  # DDP105


dist.init_process_group("gloo")
run(dist.get_rank())
dist.destroy_process_group()
