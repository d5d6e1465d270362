"""Two groups of all ranks, which rank 1 uses in the other order: each waits where the others do not come."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
losses, counts = dist.new_group(), dist.new_group()
order = [losses, counts]
if dist.get_rank() == 1:
    order.reverse()
for group in order:
    dist.all_reduce(torch.ones(3), group=group)  # DDP308
dist.destroy_process_group()
