"""Half of the ranks train one model, half another, each on all the data: two groups, two wrappers."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
groups = [dist.new_group(list(range(half, size, 2))) for half in range(2)]
mine = groups[rank % 2]
torch.manual_seed(rank)
data = TensorDataset(torch.randn(48, 4, generator=torch.Generator().manual_seed(0)))
model = DistributedDataParallel(torch.nn.Linear(4, 1), process_group=mine)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sampler = DistributedSampler(data, dist.get_world_size(mine), dist.get_rank(mine))
for epoch in range(2):
    sampler.set_epoch(epoch)
    for (x,) in DataLoader(data, batch_size=4, sampler=sampler):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
dist.destroy_process_group()
