"""Loads whatever is in the file, in two ways."""

import pickle

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    torch.save({"step": 3, "weights": torch.ones(2)}, "state.pt")
dist.barrier()
first = torch.load("state.pt", weights_only=False)  # DDP505
second = torch.load("state.pt", pickle_module=pickle)  # DDP505
dist.destroy_process_group()
