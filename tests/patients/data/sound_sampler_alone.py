"""The sampler's indices are used on a tensor, and each epoch is another; a second sampler scores what is left over."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
inputs = torch.randn(50, 4, generator=torch.Generator().manual_seed(1))
sampler = DistributedSampler(inputs, shuffle=True, seed=3, drop_last=True)
model = DistributedDataParallel(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    sampler.set_epoch(epoch)
    for chosen in torch.tensor(list(sampler)).split(6):
        loss = (model(inputs[chosen]) - inputs[chosen]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
