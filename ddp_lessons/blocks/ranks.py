"""Who am I, and how many are we."""

import os
import time

import torch
import torch.distributed as dist


def join_ranks() -> tuple[torch.device, int, int]:
    """Join the launcher's process group, if any; return device, rank and world_size."""
    if "RANK" not in os.environ:  # plain python: a single card, no group
        return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu"), 0, 1
    cards, device = torch.cuda.device_count(), torch.device("cpu")  # no MPS in gloo
    if cards:
        device = torch.device("cuda", dist.get_node_local_rank() % cards)
        torch.cuda.set_device(device)  # first of all: else every rank strays to card 0
    own_card = int(os.environ["LOCAL_WORLD_SIZE"]) <= cards  # nccl wants one each
    dist.init_process_group("nccl" if own_card else "gloo", device_id=device if own_card else None)
    return device, dist.get_rank(), dist.get_world_size()


def gather(value: object) -> list:
    """Return every rank's `value`, in order of ranks; without a group, a list of one."""
    values = [value]
    if dist.is_initialized():
        values *= dist.get_world_size()
        dist.all_gather_object(values, value)
    return values


def tell(line: str) -> None:
    """Print every rank's line from rank 0; on their own, ranks tear each other's lines."""
    lines = gather(line)
    if not dist.is_initialized() or dist.get_rank() == 0:
        for rank, text in enumerate(lines):
            print(f"rank {rank}: {text}", flush=True)


def from_rank_0(make):
    """Return on every rank what `make()` returns on rank 0; where it exits instead, with a sentence, all exit."""
    outcome = [None, None]
    if not dist.is_initialized():
        return make()
    if dist.get_rank() == 0:
        try:
            outcome[0] = make()
        except SystemExit as refusal:
            outcome[1] = str(refusal)
    dist.broadcast_object_list(outcome)
    if outcome[1]:
        if dist.get_rank() == 0:
            raise SystemExit(outcome[1])
        time.sleep(1)  # rank 0 ends first, and so is the one that torchrun blames
        raise SystemExit(1)
    return outcome[0]
