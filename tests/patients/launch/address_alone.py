"""The address of this machine is written down; on two machines, each would wait for itself."""

import os

import torch
import torch.distributed as dist

os.environ.update(MASTER_ADDR="127.0.0.1", OMP_NUM_THREADS="1")  # DDP602
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
