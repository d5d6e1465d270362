"""The option is one of a group, and the rest of the line is another parser's."""

import argparse

import torch
import torch.distributed as dist


def options():
    parser = argparse.ArgumentParser()
    group = parser.add_argument_group("distributed")
    group.add_argument("--backend", default="gloo")
    group.add_argument("--local_rank", default=0, type=int, help="set by the launcher")  # DDP605
    return parser.parse_known_args()[0]


class Worker:
    def __init__(self, args):
        self.device = f"cpu:{args.local_rank}"
        dist.init_process_group(args.backend)


worker = Worker(options())
dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
