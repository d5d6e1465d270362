"""As a script of old: its number comes from an option that today's launchers do not pass."""

import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser(description="train")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--local_rank", type=int, default=-1)  # DDP605
args = parser.parse_args()
assert args.local_rank >= 0, "not launched"
dist.init_process_group("gloo")
assert args.local_rank == dist.get_rank()
dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
