"""Rings that go round: by turns, at once, and as a batch; and parts dealt out by rank 0."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
right, left = (rank + 1) % size, (rank - 1) % size
mine, theirs = torch.full((5,), float(rank)), torch.zeros(5)
if rank == 0:
    dist.send(mine, right)
    dist.recv(theirs, left)
else:
    dist.recv(theirs, left)
    dist.send(mine, right)
works = [dist.isend(mine, right), dist.irecv(theirs, left)]
for work in works:
    work.wait()
both = [dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, theirs, left)]
for work in dist.batch_isend_irecv(both):
    work.wait()
assert theirs.eq(left).all()
if rank == 0:
    for _ in range(1, size):
        dist.recv(theirs)
    dist.send_object_list(["done"], 1)
else:
    dist.send(mine, 0)
    if rank == 1:
        dist.recv_object_list([None], 0)
dist.barrier()
dist.destroy_process_group()
