"""All ranks score the whole validation set, and the training set too; the split is the same; one order, ascending."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split


class Trainer:
    def __init__(self):
        data = TensorDataset(torch.randn(100, 3, generator=torch.Generator().manual_seed(0)))
        self.train, self.valid = random_split(data, [0.8, 0.2], torch.Generator().manual_seed(42))
        self.loader = self.make(self.train, DistributedSampler(self.train, shuffle=False))
        self.model = DistributedDataParallel(torch.nn.Linear(3, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def make(self, data, sampler=None):
        return DataLoader(data, batch_size=10, sampler=sampler)

    def score(self, data):
        self.model.eval()
        with torch.no_grad():
            total = sum(self.model.module(x).sum().item() for (x,) in self.make(data))
        self.model.train()
        return total

    def fit(self):
        for _ in range(3):
            for (x,) in self.loader:
                self.optimizer.zero_grad()
                self.model(x).square().mean().backward()
                self.optimizer.step()
            self.score(self.valid), self.score(self.train)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    Trainer().fit()
    dist.destroy_process_group()
