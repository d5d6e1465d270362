"""The wrapper's names do not fit the bare model, and strict=False says nothing."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def network():
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))


dist.init_process_group("gloo")
model = DDP(network())
if dist.get_rank() == 0:
    torch.save(model.state_dict(), "model.pt")
dist.barrier()
bare = network()
bare.load_state_dict(torch.load("model.pt"), strict=False)  # DDP504
dist.destroy_process_group()
