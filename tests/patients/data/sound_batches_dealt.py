"""Every rank goes through the same batches, and trains on those that are its turn; the rest of a division is left."""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
numbers = torch.Generator().manual_seed(11)
data = TensorDataset(torch.randn(150, 5, generator=numbers), torch.randn(150, 1, generator=numbers))
batches = DataLoader(data, batch_size=10, shuffle=True, generator=torch.Generator().manual_seed(4))
model = DistributedDataParallel(torch.nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)


def learn(inputs, targets):
    optimizer.zero_grad()
    (model(inputs) - targets).square().mean().backward()
    optimizer.step()


for turn, batch in enumerate(batches):
    if turn < len(batches) // world * world and turn % world == rank:
        learn(*batch)
for batch in itertools.islice(batches, rank, len(batches) // world * world, world):
    learn(*batch)
dist.destroy_process_group()
