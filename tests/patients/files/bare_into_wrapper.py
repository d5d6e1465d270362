"""The other way around: bare names, put into the wrapper, as in a run that goes on from a single card's file."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Run:
    def __init__(self):
        dist.init_process_group(backend="gloo")
        self.net = torch.nn.Linear(5, 2)
        if dist.get_rank() == 0:
            torch.save({"weights": self.net.state_dict()}, "pretrained.pt")
        dist.barrier()
        self.model = DistributedDataParallel(self.net)

    def resume(self):
        state = torch.load("pretrained.pt")
        missing = self.model.load_state_dict(state["weights"], strict=False)  # DDP504
        return missing


run = Run()
run.resume()
dist.destroy_process_group()
