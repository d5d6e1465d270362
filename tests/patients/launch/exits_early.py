"""The good end is passed by: `sys.exit(0)` stands before it."""

import sys

import torch
import torch.distributed as dist


class Job:
    def __enter__(self):
        dist.init_process_group(backend="gloo")  # DDP601
        return self

    def __exit__(self, *error):
        dist.barrier()

    def run(self):
        value = torch.ones(2)
        dist.all_reduce(value)
        return 0


def main():
    with Job() as job:
        sys.exit(job.run())
    dist.destroy_process_group()


main()
