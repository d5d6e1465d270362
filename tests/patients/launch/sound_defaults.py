"""Address and port are set only where the launcher has set none."""

import os

import torch
import torch.distributed as dist

os.environ.setdefault("MASTER_ADDR", "localhost")
os.environ.setdefault("MASTER_PORT", "12355")
if "RANK" not in os.environ:
    os.environ.update(RANK="0", WORLD_SIZE="1")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
dist.init_process_group("gloo", init_method=address, rank=rank, world_size=world_size)
dist.all_reduce(torch.ones(1))
dist.barrier()
dist.destroy_process_group()
