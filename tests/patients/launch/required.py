"""Cannot do without it."""

from argparse import ArgumentParser

import torch
import torch.distributed as dist


def main(local_rank: int):
    dist.init_process_group("gloo")
    dist.broadcast(torch.full((1,), float(local_rank)), src=0)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--local_rank", type=int, required=True)  # DDP605
    main(parser.parse_args().local_rank)
