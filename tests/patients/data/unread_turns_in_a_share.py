"""Each rank has a share of the samples from its sampler, and then takes turns at the batches of it as well."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
data = TensorDataset(torch.arange(768.0).reshape(192, 4) / 768, torch.arange(192) % 3)
sampler = DistributedSampler(data, seed=5)
loader = DataLoader(data, batch_size=8, sampler=sampler)
net = DistributedDataParallel(nn.Linear(4, 3))
adam = torch.optim.Adam(net.parameters())
for epoch in range(2):
    sampler.set_epoch(epoch)
    for number, (points, kinds) in enumerate(loader):  # DDP203
        if number % dist.get_world_size() == dist.get_rank():
            adam.zero_grad()
            nn.functional.cross_entropy(net(points), kinds).backward()
            adam.step()
dist.destroy_process_group()
