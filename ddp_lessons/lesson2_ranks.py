"""Who am I, how many are we, and four ways to talk to each other."""

import argparse
import os
import time

import torch
import torch.distributed as dist

from ddp_lessons.blocks.ranks import join_ranks, tell


def introduce() -> str:
    """Return a line that says who this process is among the ranks."""
    local_rank = dist.get_node_local_rank()
    return f"one of {dist.get_world_size()}, local rank {local_rank}, process {os.getpid()}"


def broadcast_from_0(device: torch.device) -> str:
    """Give every rank the number that rank 0 holds; return what this rank had, and has."""
    number = torch.tensor([10 + dist.get_rank()], device=device)
    had = number.item()
    dist.broadcast(number, src=0)
    return f"broadcast  had {had}, has {number.item()}"


def sum_over_ranks(device: torch.device) -> str:
    """Add up all ranks' numbers, on all ranks; return what this rank had, and has."""
    number = torch.tensor([10 + dist.get_rank()], device=device)
    had = number.item()
    dist.all_reduce(number, op=dist.ReduceOp.SUM)
    return f"all_reduce had {had}, has {number.item()}"


def collect_from_all(device: torch.device) -> str:
    """Collect all ranks' numbers, on all ranks; return what this rank had, and has."""
    number = torch.tensor([10 + dist.get_rank()], device=device)
    numbers = [torch.zeros_like(number) for _ in range(dist.get_world_size())]
    dist.all_gather(numbers, number)
    return f"all_gather had {number.item()}, has {[n.item() for n in numbers]}"


def wait_for_all(seconds: float) -> float:
    """Arrive at a barrier after `seconds` of work; return the seconds waited there."""
    time.sleep(seconds)
    arrived = time.perf_counter()
    dist.barrier()
    return time.perf_counter() - arrived


def main() -> None:
    """Introduce every rank, then let them talk."""
    options = argparse.ArgumentParser(description="Ranks introduce themselves, and talk.")
    options.add_argument("--local-rank", "--local_rank", help=argparse.SUPPRESS)  # old launchers
    options.parse_args()
    device, rank, world_size = join_ranks()
    if not dist.is_initialized():
        print("one process, no group to talk to: start me with torchrun --nproc-per-node 2")
        return
    tell(introduce())
    tell(broadcast_from_0(device))
    tell(sum_over_ranks(device))
    tell(collect_from_all(device))
    waited = wait_for_all(seconds=0.2 * rank)
    tell(f"barrier    waited {waited:.1f} s for the last of {world_size}")
    dist.destroy_process_group()
