"""A new head on an old body: what fits is loaded, and strict=False is right."""

import io

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, classes)

    def forward(self, x):
        return self.head(self.body(x))


dist.init_process_group("gloo")
old = Net(10).state_dict()
body = {name: weight for name, weight in old.items() if name.startswith("body")}
model = Net(2)
model.load_state_dict(body, strict=False)
model = DDP(model)
buffer = io.BytesIO()
torch.save(model.module.state_dict(), buffer)
buffer.seek(0)
model.module.load_state_dict(torch.load(buffer))
dist.destroy_process_group()
