"""Destroyed in any case, though the script leaves by sys.exit."""

import sys

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    try:
        dist.all_reduce(torch.ones(3))
        dist.barrier()
    finally:
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
