"""A Trainer that seeds each rank on its own, and lets each shuffle everything."""

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self):
        draw = np.random.default_rng(5)
        self.x = draw.normal(size=(40, 4)).astype("float32")
        self.y = self.x.sum(axis=1, keepdims=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        return {"x": self.x[at], "y": self.y[at]}


class Trainer:
    def __init__(self):
        dist.init_process_group("gloo")
        torch.manual_seed(100 + dist.get_rank())
        self.net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def loader(self):
        return DataLoader(Points(), shuffle=True, batch_size=4, drop_last=True)  # DDP201

    def fit(self, epochs):
        for _ in range(epochs):
            for batch in self.loader():
                loss = (self.net(batch["x"]) - batch["y"]).pow(2).mean()
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)


if __name__ == "__main__":
    Trainer().fit(epochs=2)
    dist.destroy_process_group()
