"""A pipeline: each rank has its own layer, of one shape with the others', and sends on what it computes."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
rank, last = dist.get_rank(), dist.get_world_size() - 1
torch.manual_seed(0)
stage = nn.Linear(4, 4)
optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    inputs = torch.randn(8, 4)
    if rank:
        dist.recv(inputs, rank - 1)
        inputs.requires_grad_()
    outputs = stage(inputs)
    if rank < last:
        dist.send(outputs.detach(), rank + 1)
        gradient = torch.empty_like(outputs)
        dist.recv(gradient, rank + 1)
        outputs.backward(gradient)
    else:
        outputs.square().mean().backward()
    if rank:
        dist.send(inputs.grad, rank - 1)
    optimizer.step()
dist.destroy_process_group()
