"""The loader is asked once; its batches go round for ever."""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
data = TensorDataset(torch.randn(64, 4, generator=torch.Generator().manual_seed(3)))
batches = itertools.cycle(DataLoader(data, batch_size=4, sampler=DistributedSampler(data)))
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in itertools.islice(batches, 40):
    loss = model(x).square().mean()  # DDP202
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
