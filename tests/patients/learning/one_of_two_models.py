"""A second model gets its inputs detached and its outputs times zero: only its own optimizer learns nothing."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
encoder, decoder = (DistributedDataParallel(nn.Linear(4, 4)) for _ in range(2))
encoding = torch.optim.Adam(encoder.parameters())
decoding = torch.optim.Adam(decoder.parameters())
for _ in range(4):
    encoding.zero_grad()
    decoding.zero_grad()
    inputs = torch.randn(8, 4)
    codes = encoder(inputs)
    (decoder(codes.detach()).relu() - inputs).square().mean().add(codes.sum() * 0).backward()
    encoding.step()  # DDP701
    decoding.step()
dist.destroy_process_group()
