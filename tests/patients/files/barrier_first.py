"""The barrier stands before the save, where it holds nobody back from the load."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Checkpoint:
    path = "checkpoint.tar"

    def save(self, model):
        if dist.get_rank() == 0:
            torch.save({"model": model.module.state_dict()}, self.path)

    def load(self, model):
        state = torch.load(self.path, map_location="cpu")  # DDP502
        model.module.load_state_dict(state["model"])


dist.init_process_group("gloo")
model, checkpoint = DistributedDataParallel(torch.nn.Linear(3, 1)), Checkpoint()
checkpoint.save(model)
dist.barrier()
model(torch.ones(2, 3)).sum().backward()
dist.barrier()
checkpoint.save(model)
checkpoint.load(model)
dist.barrier()
dist.destroy_process_group()
