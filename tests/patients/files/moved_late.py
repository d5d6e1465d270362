"""Written whole under another name and then moved; still nobody waits for that."""

import os
import shutil
from pathlib import Path

import torch.distributed as dist


def write(path, text):
    Path(f"{path}.new").write_text(text)
    shutil.move(f"{path}.new", path)


dist.init_process_group("gloo")
if dist.get_rank() == 0:
    write("settings.txt", "lr = 0.1")
dist.barrier()
before = Path("settings.txt").read_text()
dist.barrier()
if dist.get_rank() == 0:
    write("settings.txt", "lr = 0.01")
if dist.get_rank() != 0 and os.path.exists("settings.txt"):
    now = Path("settings.txt").read_text()  # DDP502
dist.barrier()
dist.destroy_process_group()
