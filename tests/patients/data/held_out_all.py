"""Two data sets of the same files; the loaders choose by samplers, and training forgets to."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, SubsetRandomSampler


class Files(Dataset):
    def __init__(self, noise):
        self.names = [f"{number:03}.png" for number in range(60)]
        self.noise = noise

    def __len__(self):
        return len(self.names)

    def __getitem__(self, at):
        value = torch.full((2,), float(self.names[at][:3]) / 60)
        return value + self.noise * torch.randn(2), at % 2


dist.init_process_group("gloo")
torch.manual_seed(50 + dist.get_rank())
train_data, valid_data = Files(noise=0.1), Files(noise=0)
valid = SubsetRandomSampler(range(48, 60))  # DDP206
train_sampler = DistributedSampler(train_data)
model = DistributedDataParallel(torch.nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    train_sampler.set_epoch(epoch)
    for x, y in DataLoader(train_data, batch_size=5, sampler=train_sampler):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in DataLoader(valid_data, batch_size=12, sampler=valid):
            torch.nn.functional.cross_entropy(model.module(x), y)
dist.destroy_process_group()
