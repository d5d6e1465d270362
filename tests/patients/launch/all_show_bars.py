"""A progress bar on each rank, made by hand with carriage returns."""

import sys

import torch
import torch.distributed as dist


def bar(done, of):
    width = 20 * done // of
    print("\r" + "█" * width + "░" * (20 - width) + f" {done}/{of}", end="\r", file=sys.stderr, flush=True)  # DDP604


dist.init_process_group("gloo")
for step in range(4):
    dist.all_reduce(torch.ones(1))
    bar(step + 1, 4)
dist.destroy_process_group()
