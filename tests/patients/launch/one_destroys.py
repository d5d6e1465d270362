"""Only rank 0 takes leave."""

import torch
import torch.distributed as dist


def setup():
    dist.init_process_group("gloo")  # DDP601
    return dist.get_rank()


rank = setup()
dist.all_reduce(torch.ones(3))
dist.barrier()
if rank == 0:
    dist.destroy_process_group()
