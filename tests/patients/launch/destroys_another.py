"""A group of its own is destroyed, the first one is not."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")  # DDP601
group = dist.new_group([0, 1])
dist.all_reduce(torch.ones(3), group=group)
dist.destroy_process_group(group)
