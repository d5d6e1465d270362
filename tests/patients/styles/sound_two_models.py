"""A generator and a discriminator, each wrapped, each with an optimizer, in turns; noise of each rank's own."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    maker = DDP(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)), broadcast_buffers=False)
    judge = DDP(nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(), nn.Linear(8, 1)))
    make, judging = torch.optim.Adam(maker.parameters(), 1e-3), torch.optim.Adam(judge.parameters(), 1e-3)
    noise = torch.Generator().manual_seed(50 + rank)
    real = torch.randn(240, 3, generator=torch.Generator().manual_seed(1))[rank :: dist.get_world_size()]
    loss_of = nn.functional.binary_cross_entropy_with_logits
    for step in range(12):
        seen = real[8 * step : 8 * step + 8]
        made = maker(torch.randn(len(seen), 2, generator=noise))
        judging.zero_grad()
        both = judge(torch.cat([seen, made.detach()]))
        loss_of(both, torch.cat([torch.ones(len(seen), 1), torch.zeros(len(seen), 1)])).backward()
        judging.step()
        judge.requires_grad_(False)
        make.zero_grad()
        loss_of(judge.module(made), torch.ones(len(seen), 1)).backward()
        make.step()
        judge.requires_grad_(True)
    if rank == 0:
        torch.save(maker.module.state_dict(), "maker.pt")
    dist.destroy_process_group()


main()
