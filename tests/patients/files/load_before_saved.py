"""Rank 0 prepares the first weights, which takes a moment; the others load them."""

import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.Linear(3, 1)
if dist.get_rank() == 0:
    time.sleep(0.5)
    torch.save(model.state_dict(), "first.pt")
else:
    model.load_state_dict(torch.load("first.pt"))  # DDP502
dist.barrier()
dist.destroy_process_group()
