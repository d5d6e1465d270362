"""The sampler's indices are used on a tensor, without a loader; its epoch stays the same."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
inputs = torch.randn(48, 4, generator=torch.Generator().manual_seed(1))
sampler = DistributedSampler(inputs, shuffle=True, seed=3)
model = DistributedDataParallel(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    sampler.set_epoch(0)
    order = torch.tensor(list(sampler))  # DDP202
    for chosen in order.split(6):
        loss = (model(inputs[chosen]) - inputs[chosen]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
