"""Each epoch makes its loader anew, with a generator that begins at the same seed; batches come by next()."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset


def epoch_loader(dataset):
    return DataLoader(dataset, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(42))


def train(model, dataset, epochs):
    optimizer = torch.optim.Adagrad(model.parameters())
    for _ in range(epochs):
        loader = epoch_loader(dataset)
        batches = iter(loader)
        for _ in range(len(loader)):
            (x,) = next(batches)  # DDP202
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


dist.init_process_group("gloo")
everything = TensorDataset(torch.arange(120.0).reshape(40, 3) / 100)
share = Subset(everything, range(dist.get_rank(), 40, dist.get_world_size()))
train(DistributedDataParallel(torch.nn.Linear(3, 2)), share, epochs=2)
dist.destroy_process_group()
