"""Uneven inputs: rank 0 has three batches, every other rank two, without and with `Join`."""

from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.ranks import gather
from ddp_lessons.workbench.broken.parts import gradient, mean_loss, network, relative, samples


def batches(folder: str = "../data") -> list[tuple[Tensor, Tensor]]:
    """Return equal batches: two for each rank, and one more, which is rank 0's."""
    world_size = dist.get_world_size()
    size = 64 // (2 * world_size + 1)
    parts = [tensor.split(size)[: 2 * world_size + 1] for tensor in samples(folder)]
    return list(zip(*parts, strict=True))


def train_without_join(wrapped: DDP, mine: list[tuple[Tensor, Tensor]]) -> None:
    """Take a step for each batch: the rank with one more waits in backward for partners that have left."""
    for images, labels in mine:
        wrapped.zero_grad()
        mean_loss(wrapped, images, labels)


def train_with_join(wrapped: DDP, mine: list[tuple[Tensor, Tensor]]) -> None:
    """Take a step for each batch: ranks that are done add zeros, and DDP still divides by the number of all.

    So each sample counts the same over the whole epoch, and a step of few ranks is a short one.
    """
    with Join([wrapped]):
        for images, labels in mine:
            wrapped.zero_grad()
            mean_loss(wrapped, images, labels)


def train_with_join_of_those_left(wrapped: DDP, mine: list[tuple[Tensor, Tensor]]) -> None:
    """Take a step for each batch: DDP divides by the number of ranks that still have one."""
    with Join([wrapped], divide_by_initial_world_size=False):
        for images, labels in mine:
            wrapped.zero_grad()
            mean_loss(wrapped, images, labels)


def what_is_said(train: Callable, folder: str = "../data", seconds: float = 2) -> str:
    """Return the error that ends the training, "" if none, in a group that waits so long; others wait half an hour."""
    wrapped = DDP(network(), process_group=dist.new_group(timeout=timedelta(seconds=seconds)))
    said = ""
    try:
        train(wrapped, batches(folder)[dist.get_rank() :: dist.get_world_size()])
    except RuntimeError as error:
        said = str(error).split("] ")[-1]  # without the place in gloo's source
    return next(filter(None, gather(said)), "")


def gap_of_last_step(train: Callable, folder: str = "../data") -> float:
    """Return how far rank 0's last gradient is from that of one process, which has only that batch left as well."""
    wrapped, alone = DDP(network()), network()
    train(wrapped, batches(folder)[dist.get_rank() :: dist.get_world_size()])
    mean_loss(alone, *batches(folder)[-1])
    return gather(relative(gradient(wrapped), gradient(alone)))[0]


def metric_in_a_gradient() -> float:
    """Return rank 0's last gradient, which is to be 1: without `Join`, what other ranks send next gets into it.

    They have trained, and sum up a metric, 100, while rank 0 averages a gradient. Both are one number, so they are
    added, and nobody says a word. Of different sizes they would end the process, or be waited for until the time-out.
    """
    model = nn.Linear(1, 1, bias=False).double()
    wrapped = DDP(model)
    for _ in range(3 if dist.get_rank() == 0 else 2):
        wrapped.zero_grad()
        wrapped(torch.ones(1, 1).double()).sum().backward()
    if dist.get_rank() > 0:
        dist.all_reduce(torch.tensor([100.0]).double())
    return gather(model.weight.grad.item())[0]


def measure(folder: str = "../data") -> dict[str, float | str]:
    """Return what ends each way, and how far rank 0's last gradient is from one process's. All ranks call it."""
    return {
        "without Join, the error": what_is_said(train_without_join, folder),
        "without Join, a gradient that is 1": metric_in_a_gradient(),
        "with Join, the error": what_is_said(train_with_join, folder, seconds=30) or "none",
        "with Join, gap of the last gradient": gap_of_last_step(train_with_join, folder),
        "the same, divided by those left": gap_of_last_step(train_with_join_of_those_left, folder),
    }
