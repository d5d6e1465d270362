"""Understands today's old launcher, but torchrun passes no option."""

import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", type=int, default=0)  # DDP605
args = parser.parse_args()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1) * args.local_rank)
dist.destroy_process_group()
