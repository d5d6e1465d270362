"""All ranks make the folder for this run; all but one fail."""

import os

import torch.distributed as dist


def prepare(folder):
    os.makedirs(folder)  # DDP501
    return folder


dist.init_process_group("gloo")
dist.barrier()
prepare("runs/first")
dist.destroy_process_group()
