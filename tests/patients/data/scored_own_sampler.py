"""A sampler written by hand rounds each rank's share of the validation set up, and wraps round at the end."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Share(torch.utils.data.Sampler):
    def __init__(self, size, rank, ranks):
        self.each = -(-size // ranks)
        self.indices = [i % size for i in range(rank * self.each, (rank + 1) * self.each)]

    def __len__(self):
        return self.each

    def __iter__(self):
        yield from self.indices


dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
train = [{"v": torch.tensor([n / 64, 1])} for n in range(64)]
valid = [{"v": torch.tensor([-n / 17, 1])} for n in range(17)]
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.Adam(model.parameters())
valid_loader = DataLoader(valid, batch_size=3, sampler=Share(17, rank, ranks))  # DDP204
for batch in DataLoader(train, batch_size=8, sampler=range(rank, 64, ranks)):
    optimizer.zero_grad()
    model(batch["v"]).square().mean().backward()
    optimizer.step()
model.eval()
with torch.inference_mode():
    total = sum(model(batch["v"]).sum() for batch in valid_loader)
dist.all_reduce(total)
dist.destroy_process_group()
