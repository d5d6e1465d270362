"""The group is destroyed as Python ends."""

import atexit

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
atexit.register(dist.destroy_process_group)
dist.all_reduce(torch.ones(3))
