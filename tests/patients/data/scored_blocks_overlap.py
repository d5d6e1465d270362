"""Each rank scores a block of the validation set; the blocks are cut one batch too long. No no_grad anywhere."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset


class Runner:
    def __init__(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        draw = torch.Generator().manual_seed(8)
        self.data = TensorDataset(torch.rand(40, 3, generator=draw))
        self.held = TensorDataset(torch.rand(30, 3, generator=draw))
        self.model = DistributedDataParallel(torch.nn.Linear(3, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train(self):
        for (x,) in DataLoader(Subset(self.data, range(self.rank, 40, self.size)), batch_size=5):
            self.optimizer.zero_grad()
            self.model(x).square().mean().backward()
            self.optimizer.step()

    def validate(self):
        self.model.eval()
        share = 30 // self.size
        part = range(self.rank * share, min(30, (self.rank + 1) * share + 5))
        losses = [self.model(x).mean().item() for (x,) in DataLoader(Subset(self.held, part), batch_size=5)]  # DDP204
        self.model.train()
        return sum(losses) / len(losses)


dist.init_process_group("gloo")
runner = Runner()
for _ in range(2):
    runner.train()
    runner.validate()
dist.destroy_process_group()
