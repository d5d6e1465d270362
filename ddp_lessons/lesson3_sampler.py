"""Which samples are mine, and are all of them somebody's?"""

import argparse
import os
import time
from collections import Counter

import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from ddp_lessons.blocks.ranks import gather, join_ranks


def sampler_options() -> argparse.ArgumentParser:
    """Return the command line: a small data set, so that every sample can be seen."""
    options = argparse.ArgumentParser(usage=argparse.SUPPRESS, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    if os.environ.get("RANK", "0") != "0":
        options.error = lambda message: time.sleep(9)  # rank 0 says it, and torchrun ends us
    options.add_argument("--samples", type=int, default=10, help="size of the data set")
    options.add_argument("--batch-size", type=int, default=2, help="samples a step, per rank")
    options.add_argument("--epochs", type=int, default=2, help="passes over the data set")
    options.add_argument("--drop-last", action="store_true", help="drop what does not divide evenly")
    options.add_argument("--no-set-epoch", action="store_true", help="leave out sampler.set_epoch")
    options.add_argument("--local-rank", "--local_rank", help=argparse.SUPPRESS)  # old launchers
    return options


def samples_read(loader: DataLoader) -> list[list[int]]:
    """Return the samples that `loader` reads in an epoch, a list for each step."""
    return [batch.tolist() for batch in loader]


def repeats_and_gaps(reads: list, samples: int) -> tuple[list[int], list[int]]:
    """Return the samples that were read more than once, and those that no rank read."""
    counts = Counter(sample for rank in reads for step in rank for sample in step)
    repeated = [sample for sample in range(samples) if counts[sample] > 1]
    return repeated, [sample for sample in range(samples) if counts[sample] == 0]


def main() -> None:
    """Read a few epochs of a small data set; rank 0 prints who read what."""
    options = sampler_options()
    args = options.parse_args()
    if min(args.epochs, args.batch_size, args.samples) < 1:
        options.error("epochs, batch size and samples are numbers from 1")
    _, rank, world_size = join_ranks()
    numbers = range(args.samples)  # a sample is its own number
    sampler = DistributedSampler(numbers, world_size, rank, drop_last=args.drop_last)
    loader = DataLoader(numbers, args.batch_size, sampler=sampler)
    for epoch in range(args.epochs):
        if not args.no_set_epoch:
            sampler.set_epoch(epoch)
        reads = gather(samples_read(loader))
        if rank == 0:
            for other, steps in enumerate(reads):
                print(f"epoch {epoch + 1}, rank {other}:", *steps)
            repeated, missed = repeats_and_gaps(reads, args.samples)
            print(f"epoch {epoch + 1}, read twice: {repeated}, read by nobody: {missed}")
    if dist.is_initialized():
        dist.destroy_process_group()
