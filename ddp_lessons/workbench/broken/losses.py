"""Losses whose gradient DDP turns into another one, and their repairs."""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ddp_lessons.workbench.broken.parts import gap, gradient_alone, gradient_of, mean_loss, network, relative, samples


def sum_loss(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Leave the gradient of the summed loss: DDP averages over ranks, so it is 1/world_size of one process's sum."""
    cross_entropy(model(images), labels, reduction="sum").backward()


def sum_loss_scaled(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Leave the gradient of the summed loss, times world_size before DDP divides by it: that of one process's sum."""
    loss = cross_entropy(model(images), labels, reduction="sum") * dist.get_world_size()
    loss.backward()


def divided_again(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Leave 1/world_size of the right gradient: it is divided here, and DDP divides it as well."""
    loss = cross_entropy(model(images), labels) / dist.get_world_size()
    loss.backward()


def weighted_by_count(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Leave the gradient of the mean over the samples of all ranks, however many each of them has."""
    count = torch.tensor(len(labels))
    dist.all_reduce(count)
    loss = cross_entropy(model(images), labels, reduction="sum") * dist.get_world_size() / count
    loss.backward()


def unequal_share(folder: str = "../data") -> tuple[Tensor, Tensor]:
    """Return this rank's part of the 64 samples: rank 0 has three quarters of them, the others share the rest."""
    rank, others = dist.get_rank(), dist.get_world_size() - 1
    images, labels = samples(folder)
    mine = slice(0, 48) if rank == 0 else slice(48 + rank - 1, 64, others)
    return images[mine], labels[mine]


def gap_on_unequal(way, folder: str = "../data") -> float:
    """Return how far a way's gradient is from that of one process, where local batches are not equally large."""
    ours, _ = gradient_of(way, network(), unequal_share(folder))
    return relative(ours, gradient_alone(folder=folder))


def measure(folder: str = "../data") -> dict[str, float]:
    """Return how far each way's gradient is from that of one process, relative to that. All ranks call it."""
    return {
        "mean loss": gap(mean_loss, folder=folder),
        "sum of losses": gap(sum_loss, sum_loss, folder=folder),
        "sum of losses, times world_size": gap(sum_loss_scaled, sum_loss, folder=folder),
        "mean loss, divided by world_size again": gap(divided_again, folder=folder),
        "unequal local batches, mean loss": gap_on_unequal(mean_loss, folder),
        "unequal local batches, weighted by count": gap_on_unequal(weighted_by_count, folder),
    }
