"""Rank 0 announces before it adds up, the others do it the other way round."""

import torch
import torch.distributed as dist


def announce(text):
    box = [text]
    dist.broadcast_object_list(box, src=0)  # DDP301
    return box[0]


def total(value):
    tensor = torch.tensor([float(value)])
    dist.all_reduce(tensor)
    return tensor.item()


dist.init_process_group("gloo")
if dist.get_rank() == 0:
    announce("begin")
    total(1)
else:
    total(1)
    announce("")
dist.destroy_process_group()
