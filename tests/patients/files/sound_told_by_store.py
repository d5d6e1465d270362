"""Rank 0 writes, and tells the others through a store that the file is there."""

import os

import torch
import torch.distributed as dist

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
port = int(os.environ["MASTER_PORT"])
store = dist.PrefixStore("ours", dist.TCPStore(os.environ["MASTER_ADDR"], port, is_master=False))
dist.init_process_group("gloo")
if rank == 0:
    torch.save(torch.arange(5), "numbers.pt")
    store.set("written", "yes")
else:
    store.wait(["written"])
assert torch.load("numbers.pt").sum() == 10
dist.destroy_process_group()
