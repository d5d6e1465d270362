"""A stream of samples that every rank reads from its beginning, and every worker as well."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset


class Lines(IterableDataset):
    def __iter__(self):
        for number in range(48):
            yield torch.tensor([number, number**0.5, 1.0])


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DDP(nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
loader = DataLoader(Lines(), batch_size=6, num_workers=2)  # DDP201 DDP208
for batch in loader:
    optimizer.zero_grad()
    model(batch).mean().backward()
    optimizer.step()
dist.destroy_process_group()
