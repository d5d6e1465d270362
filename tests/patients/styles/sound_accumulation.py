"""Gradients of four micro-batches, of which the first three stay on the rank; loss scaled, clipped, then a step."""

import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

MICRO = 4

dist.init_process_group(backend="gloo")
torch.manual_seed(5)
dataset = TensorDataset(torch.randn(128, 3), torch.randn(128, 1))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=4, sampler=sampler)
net = DDP(nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 1)), gradient_as_bucket_view=True)
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for number, (inputs, targets) in enumerate(loader, 1):
        last = number % MICRO == 0
        with contextlib.nullcontext() if last else net.no_sync():
            (nn.functional.mse_loss(net(inputs), targets) / MICRO).backward()
        if last:
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
dist.destroy_process_group()
