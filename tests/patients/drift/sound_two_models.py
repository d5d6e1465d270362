"""A generator and a discriminator, each with its wrapper and optimizer; a gradient penalty asks autograd itself."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def penalty(judge, real):
    real = real.clone().requires_grad_()
    (slope,) = torch.autograd.grad(judge(real).sum(), real, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    painter = DistributedDataParallel(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4)))
    judge = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), broadcast_buffers=False)
    painting = torch.optim.Adam(painter.parameters(), betas=(0.5, 0.9))
    judging = torch.optim.Adam(judge.parameters(), betas=(0.5, 0.9))
    for _ in range(5):
        real = torch.randn(8, 4)
        judging.zero_grad()
        both = judge(torch.cat([painter(torch.randn(8, 2)).detach(), real]))
        (both[:8].mean() - both[8:].mean() + 0 * penalty(judge.module, real)).backward()
        judging.step()
        painting.zero_grad()
        (-judge(painter(torch.randn(8, 2))).mean()).backward()
        painting.step()
    dist.destroy_process_group()


main()
