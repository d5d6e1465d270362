"""Every rank reads the whole global batch, and trains on the first rows of it, whichever rank it is."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
world_size = dist.get_world_size()
images = torch.randn(192, 5, generator=torch.Generator().manual_seed(8))
samples = TensorDataset(images, images[:, :1])
loader = DataLoader(samples, 24, shuffle=True, drop_last=True, generator=torch.Generator().manual_seed(9))
model = DDP(nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    for inputs, targets in loader:
        mine = slice(0, 24 // world_size)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs[mine]), targets[mine]).backward()  # DDP201
        optimizer.step()
dist.destroy_process_group()
