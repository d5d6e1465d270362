"""Plain functions, a seed a rank for the noise, a test on all ranks without repeats, an early stop they agree on."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split
from torch.utils.data.distributed import DistributedSampler


def make_sets():
    generator = torch.Generator().manual_seed(11)
    inputs = torch.randn(70, 5, generator=generator)
    dataset = TensorDataset(inputs, inputs[:, :1] * 2 - inputs[:, 1:2])
    return random_split(dataset, [53, 17], generator=generator)


def accuracy(model, part):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mine = Subset(part, range(rank, len(part), world_size))
    counts = torch.zeros(2)
    model.eval()
    with torch.no_grad():
        for inputs, targets in DataLoader(mine, batch_size=4):
            counts += torch.tensor([(model(inputs) - targets).abs().lt(0.1).sum().item(), len(targets)])
    model.train()
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def train(model, wrapped, train_set, test_set):
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, batch_size=4, sampler=sampler, drop_last=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(6):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            noisy = inputs + 0.01 * torch.randn_like(inputs)
            loss = (wrapped(noisy) - targets).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        enough = torch.tensor(float(accuracy(model, test_set) > 0.5))
        dist.broadcast(enough, src=0)
        if enough:
            break


def main():
    dist.init_process_group("gloo")
    try:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 1))
        torch.manual_seed(100 + dist.get_rank())
        wrapped = DistributedDataParallel(model)
        train(model, wrapped, *make_sets())
        if dist.get_rank() == 0:
            torch.save(model.state_dict(), "functions.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
