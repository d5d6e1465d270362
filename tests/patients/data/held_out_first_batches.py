"""Validation reads some of the training loader's samples, and some that are nowhere else; by index lists."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        draw = torch.Generator().manual_seed(6)
        self.data = [(x, x.sum()) for x in torch.randn(72, 3, generator=draw)]
        order = torch.randperm(72, generator=draw).tolist()
        mine = order[:60][self.rank :: self.size]
        self.train_loader = DataLoader(self.data, batch_size=5, sampler=mine)
        self.valid_loader = DataLoader(self.data, batch_size=6, sampler=order[48:])  # DDP206
        self.model = DistributedDataParallel(torch.nn.Linear(3, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def run(self, loader, train):
        for x, y in loader:
            with torch.set_grad_enabled(train):
                loss = (self.model.module(x) if not train else self.model(x)).squeeze(1).sub(y).square().mean()
            if train:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


dist.init_process_group("gloo")
trainer = Trainer()
trainer.run(trainer.train_loader, True)
trainer.run(trainer.valid_loader, False)
dist.destroy_process_group()
