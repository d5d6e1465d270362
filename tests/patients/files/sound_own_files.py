"""Each rank has files of its own, and folders that may be there already."""

import os
import tempfile
from pathlib import Path

import numpy
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
os.makedirs("out/deep", exist_ok=True)
Path("out/logs").mkdir(exist_ok=True, parents=True)
torch.save(torch.ones(rank + 1), f"out/part{rank}.pt")
numpy.save(f"out/deep/{rank}.npy", numpy.ones(3))
with open(Path("out/logs") / f"rank-{rank}.txt", "w") as log, tempfile.TemporaryFile() as file:
    log.write("hello")
    file.write(b"hello")
with tempfile.NamedTemporaryFile(dir=".") as file:
    torch.save(torch.ones(2), file.name)
own = torch.load(f"out/part{rank}.pt")
dist.barrier()
parts = [torch.load(f"out/part{other}.pt") for other in range(dist.get_world_size())]
dist.destroy_process_group()
