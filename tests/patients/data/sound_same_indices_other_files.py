"""Each rank's data set holds its own part: the same indices are other samples."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Part(Dataset):
    def __init__(self, rank, ranks):
        self.all = torch.arange(80.0).reshape(40, 2)
        self.rank, self.ranks = rank, ranks

    def __len__(self):
        return len(self.all) // self.ranks

    def __getitem__(self, at):
        return self.all[at * self.ranks + self.rank]


dist.init_process_group("gloo")
torch.manual_seed(1)
loader = DataLoader(Part(dist.get_rank(), dist.get_world_size()), batch_size=4, shuffle=True)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for _ in range(3):
    for x in loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
dist.destroy_process_group()
