"""Address and port as in a tutorial for spawned processes: over what the launcher has set. Nobody listens there."""

import os

import torch.distributed as dist


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"  # DDP602
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


setup(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
dist.destroy_process_group()
