"""The file has the wrapper's names, and who reads it knows."""

import torch
import torch.distributed as dist
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(4, 2))
if dist.get_rank() == 0:
    torch.save({"state": model.state_dict()}, "wrapped.pt")
dist.barrier()
weights = torch.load("wrapped.pt")["state"]
bare = torch.nn.Linear(4, 2)
try:
    bare.load_state_dict(weights)
except RuntimeError:
    consume_prefix_in_state_dict_if_present(weights, "module.")
    bare.load_state_dict(weights)
dist.destroy_process_group()
