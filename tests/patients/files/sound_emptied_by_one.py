"""Rank 0 empties a folder, and all wait; each then makes its own in it, and one takes all away when they are done."""

import shutil
from pathlib import Path

import torch.distributed as dist

dist.init_process_group("gloo")
folder = Path("scratch")
if dist.get_rank() == 0:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
dist.barrier()
folder.mkdir(exist_ok=True)
mine = folder / str(dist.get_rank())
mine.mkdir()
shutil.rmtree(mine)
dist.barrier()
if dist.get_rank() == 0:
    shutil.rmtree(folder)
dist.destroy_process_group()
