"""A trainer class that keeps the bare module for "speed" and trains through it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, net):
        self.ddp = DistributedDataParallel(net)
        self.net = self.ddp.module
        self.optimizer = torch.optim.Adam(self.ddp.parameters(), lr=0.01)

    def fit(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.net(inputs), targets)  # DDP101
            loss.backward()
            self.optimizer.step()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(10 + dist.get_rank())
    batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(4)]
    Trainer(nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))).fit(batches)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
