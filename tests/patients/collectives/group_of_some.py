"""Only those ranks make a group that are in it."""

import torch
import torch.distributed as dist


def pair():
    return dist.new_group([0, 1])  # DDP307


dist.init_process_group("gloo")
value = torch.ones(1)
if dist.get_rank() < 1:
    dist.all_reduce(value, group=pair())
dist.barrier()
dist.destroy_process_group()
