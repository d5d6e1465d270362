"""The old launcher's option has no type."""

import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", "--local_rank", default=0)
args = parser.parse_args()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
if 0 == args.local_rank:  # DDP603
    torch.save(torch.ones(1), "model.pt")
dist.destroy_process_group()
