"""Each rank has an opinion on whether to stop; all stop when one wants to."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
patience = 2 + 3 * rank
for worse in range(10):
    loss = model(torch.randn(8, 5)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    stop = torch.tensor(int(worse >= patience))
    dist.all_reduce(stop, op=dist.ReduceOp.MAX)
    if stop:
        break
total = loss.detach().clone()
dist.all_reduce(total)
if rank == 0:
    print("mean loss", total.item() / dist.get_world_size())
dist.destroy_process_group()
