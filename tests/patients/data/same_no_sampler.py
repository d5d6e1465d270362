"""Each rank has the same seed, and a loader that shuffles all samples."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(1)
samples = TensorDataset(torch.randn(48, 6), torch.randint(0, 3, (48,)))
loader = DataLoader(samples, batch_size=8, shuffle=True)  # DDP201
model = DDP(nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
dist.destroy_process_group()
