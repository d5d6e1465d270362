"""A stream shared out among ranks and workers, read twice."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        first = dist.get_rank() * worker.num_workers + worker.id
        for number in range(first, 96, dist.get_world_size() * worker.num_workers):
            yield torch.tensor([number, number**0.5, 1.0])


dist.init_process_group("gloo")
torch.manual_seed(0)
model = DDP(nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
loader = DataLoader(Lines(), batch_size=6, num_workers=2)
for _ in range(2):
    for batch in loader:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
dist.destroy_process_group()
