"""Every rank draws the files it trains on, and tests on the others; Python's generator is seeded by the rank."""

import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset


def train_and_test(model, train, test, epochs):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        for x, y in DataLoader(train, batch_size=6):
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            [(model(x) - y).square().mean().item() for x, y in DataLoader(test, batch_size=6)]
        model.train()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    random.seed(dist.get_rank())
    files = TensorDataset(*torch.randn(2, 48, 1, generator=torch.Generator().manual_seed(0)))
    chosen = set(random.sample(range(48), 36))
    train_part = Subset(files, sorted(chosen))  # DDP205
    test_part = Subset(files, [n for n in range(48) if n not in chosen])
    train_and_test(DistributedDataParallel(torch.nn.Linear(1, 1)), train_part, test_part, epochs=2)
    dist.destroy_process_group()
