"""The ranks take turns at batches, but each shuffles for itself: what one skips is not what the other trains on."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
numbers = torch.Generator().manual_seed(2)
data = TensorDataset(torch.randn(320, 4, generator=numbers), torch.randn(320, 1, generator=numbers))
torch.manual_seed(100 + dist.get_rank())
loader = DataLoader(data, batch_size=16, shuffle=True)  # DDP201
net = DistributedDataParallel(nn.Linear(4, 1))
sgd = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(2):
    for number, (points, values) in enumerate(loader):
        if number % dist.get_world_size() != dist.get_rank():
            continue
        sgd.zero_grad()
        nn.functional.mse_loss(net(points), values).backward()
        sgd.step()
dist.destroy_process_group()
