"""Two wrappers, accumulation in no_sync, sums whose waits come later, objects, and a monitored barrier."""

import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
maker = DistributedDataParallel(torch.nn.Linear(2, 4))
critic = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizers = [torch.optim.Adam(model.parameters()) for model in (maker, critic)]
for step in range(4):
    made = maker(torch.randn(3, 2))
    with critic.no_sync() if step % 2 else contextlib.nullcontext():
        critic(made.detach()).mean().backward()
    if step % 2 == 0:
        optimizers[1].step()
    (-critic(made).mean()).backward()
    optimizers[0].step()
values = [torch.ones(2), torch.ones(3)]
works = [dist.all_reduce(value, async_op=True) for value in values]
for work in reversed(works) if rank else works:
    work.wait()
everyones = [None] * size
dist.all_gather_object(everyones, {"rank": rank, "much": "x" * rank * 100})
dist.gather_object(rank, [None] * size if rank == 0 else None, dst=0)
dist.scatter_object_list([None], list(range(size)) if rank == 0 else None, src=0)
dist.scatter(torch.empty(2), [torch.ones(2)] * size if rank == 0 else None, src=0)
dist.reduce(torch.ones(2), dst=size - 1)
dist.all_gather_into_tensor(torch.empty(2 * size), torch.ones(2))
dist.monitored_barrier()
dist.destroy_process_group()
