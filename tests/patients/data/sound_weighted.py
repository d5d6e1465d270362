"""A weighted sampler on each rank, each with a seed of its own: they overlap by chance."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, WeightedRandomSampler

dist.init_process_group("gloo")
torch.manual_seed(7)
data = [(torch.tensor([float(n), n % 5.0]), n % 2) for n in range(50)]
generator = torch.Generator().manual_seed(dist.get_rank())
draw = WeightedRandomSampler([1 + 3 * label for _, label in data], num_samples=40, generator=generator)
model = DistributedDataParallel(torch.nn.Linear(2, 2))
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    for x, y in DataLoader(data, sampler=draw, batch_size=8):
        torch.nn.CrossEntropyLoss()(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
