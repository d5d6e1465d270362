"""Every rank loads the checkpoint after wrapping, its optimizer's state too; a skipped step is skipped by all."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def checkpoint():
    generator = torch.Generator().manual_seed(5)
    return {"module.weight": torch.randn(2, 4, generator=generator), "module.bias": torch.zeros(2)}


dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters())
model.load_state_dict(checkpoint())
for step in range(5):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4) * (float("nan") if step == 2 else 1)).square().mean()
    loss.backward()
    seen = loss.detach().clone()
    dist.all_reduce(seen)
    if seen.isfinite():
        optimizer.step()
dist.destroy_process_group()
