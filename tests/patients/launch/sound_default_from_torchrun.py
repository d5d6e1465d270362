"""The option's default is what torchrun says."""

import argparse
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", "0")))
parser.add_argument("rest", nargs="*")
args = parser.parse_args()
assert args.rest == [] and args.local_rank == int(os.environ["LOCAL_RANK"])
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
