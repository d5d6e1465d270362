"""A new head is put on after wrapping, as in fine-tuning; the wrapper still reduces the old one."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def fine_tune(classes):
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 10))
    model = DistributedDataParallel(net, find_unused_parameters=True)  # DDP102
    torch.manual_seed(3)
    net[2] = nn.Linear(8, classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        optimizer.zero_grad()
        out = model(torch.randn(4, 8))
        nn.functional.cross_entropy(out, torch.randint(0, classes, (4,))).backward()
        optimizer.step()


dist.init_process_group("gloo")
fine_tune(3)
dist.destroy_process_group()
