"""Rank 0 announces before it adds up, and the others do as it does, from lines of their own."""

import torch
import torch.distributed as dist


def announce(text):
    box = [text]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def total(value):
    tensor = torch.tensor([float(value)])
    dist.all_reduce(tensor)
    return tensor.item()


dist.init_process_group("gloo")
weights = torch.zeros(4)
if dist.get_rank() == 0:
    weights = torch.randn(4)
    announce("begin")
    total(1)
    dist.broadcast(weights, src=0)
else:
    announce("")
    total(1)
    dist.broadcast(weights, 0)
for root in range(dist.get_world_size()):
    if dist.get_rank() == root:
        dist.broadcast(weights, src=root)
    else:
        dist.broadcast(torch.empty(4), src=root)
assert total(2) == 2 * dist.get_world_size()
dist.destroy_process_group()
