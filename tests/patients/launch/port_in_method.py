"""The port is an option's default."""

import argparse
import os

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--dist-url", default="tcp://127.0.0.1:23456")
args = parser.parse_args()
dist.init_process_group(  # DDP602
    "gloo",
    init_method=args.dist_url,
    rank=int(os.environ["RANK"]),
    world_size=int(os.environ["WORLD_SIZE"]),
)
dist.destroy_process_group()
