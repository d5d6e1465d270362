"""Each rank begins with an empty folder, and takes away what the one before it has just made."""

import shutil
import time
from pathlib import Path

import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
folder = Path("results")
time.sleep(0.5 * rank)
if folder.exists():
    shutil.rmtree(folder)  # DDP501
folder.mkdir()
dist.barrier()
dist.destroy_process_group()
