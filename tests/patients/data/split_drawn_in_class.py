"""A data module draws its parts when it is made: torch's generator is not seeded. Two loaders from one helper."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split


class DataModule:
    def __init__(self, samples):
        held = len(samples) // 4
        self.parts = random_split(samples, [len(samples) - held, held])  # DDP205

    def loader(self, part):
        sampler = DistributedSampler(self.parts[part], drop_last=True)
        return DataLoader(self.parts[part], batch_size=3, sampler=sampler), sampler


dist.init_process_group("gloo")
x = torch.linspace(-1, 1, 72).unsqueeze(1)
module = DataModule(TensorDataset(x, x**2))
(train, sampler), (valid, _) = module.loader(0), module.loader(1)
model = DistributedDataParallel(nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for inputs, targets in train:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    with torch.no_grad():
        loss = sum(nn.functional.mse_loss(model.module(inputs), targets).item() for inputs, targets in valid)
    if dist.get_rank() == 0:
        print(loss)
dist.destroy_process_group()
