"""A hinge loss is zero at most steps, and not at all; the loss of the other model is negative."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    judge, painter = DistributedDataParallel(nn.Linear(2, 1)), DistributedDataParallel(nn.Linear(2, 2))
    judging = torch.optim.SGD(judge.parameters(), lr=0.1)
    painting = torch.optim.SGD(painter.parameters(), lr=0.1)
    for step in range(8):
        judging.zero_grad()
        margin = 1 if step == 5 else -1000
        (margin - judge(torch.randn(8, 2))).relu().mean().backward()
        judging.step()
        painting.zero_grad()
        (-judge.module(painter(torch.randn(8, 2))).mean() - 10).backward()
        painting.step()
    dist.destroy_process_group()


main()
