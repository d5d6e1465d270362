"""Batch statistics are each rank's own, and rank 0 loads its best weights when training is over."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    model = DistributedDataParallel(net, static_graph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = {name: value.clone() for name, value in net.state_dict().items()}
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(8, 4) + dist.get_rank()).square().mean().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        net.load_state_dict(best)
        net.eval()(torch.randn(8, 4))
    dist.destroy_process_group()


main()
