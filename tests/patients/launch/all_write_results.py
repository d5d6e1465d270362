"""Rank 0 alone prints in training; the result at the end comes from everyone, straight to stdout."""

import sys

import torch
import torch.distributed as dist


def evaluate(rank):
    right = torch.tensor([40.0 + rank, 50.0])
    sys.stdout.write(f"accuracy {100 * right[0] / right[1]:.1f} %\n")  # DDP604
    return right


dist.init_process_group("gloo")
for step in range(3):
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 0:
        print("step", step)
evaluate(dist.get_rank())
dist.destroy_process_group()
