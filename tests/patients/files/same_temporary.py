"""Whole or not at all, but each rank writes the same temporary file first."""

import contextlib
import os

import torch
import torch.distributed as dist


def save_whole(state, path):
    torch.save(state, path + ".partial")  # DDP501
    with contextlib.suppress(FileNotFoundError):
        os.replace(path + ".partial", path)


dist.init_process_group("gloo")
weights = torch.zeros(3)
for step in range(3):
    dist.all_reduce(weights)
    save_whole({"weights": weights, "step": step}, "last.ckpt")
dist.destroy_process_group()
