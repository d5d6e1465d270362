"""The same training, alone and shared among ranks, to compare every gradient and weight."""

from collections.abc import Iterator
from itertools import repeat

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.model import build_model

BOUNDS = {"float64": 1e-12, "float32": 1e-5}
OPTIMIZERS = {
    "SGD": lambda weights: optim.SGD(weights, lr=0.01),
    "momentum": lambda weights: optim.SGD(weights, lr=0.01, momentum=0.9),
    "AdamW": lambda weights: optim.AdamW(weights, lr=0.001),
}


def small_cnn(norm: str = "GroupNorm") -> nn.Module:
    """Return a CNN of some 9,000 weights, quick in float64; the norm is `GroupNorm`, `BatchNorm` or `Identity`."""
    make = {"GroupNorm": lambda size: nn.GroupNorm(4, size), "BatchNorm": nn.BatchNorm2d, "Identity": nn.Identity}[norm]
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), make(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), make(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 7 * 7, 10),
    )  # fmt: skip


def train_steps(
    rank: int, world_size: int, network: str = "linear", optimizer: str = "SGD", dtype: str = "float64",
    folder: str = "../data", steps: int = 100, global_batch: int = 64,
) -> Iterator[nn.Module]:  # fmt: skip
    """Train on this rank's rows of each global batch; yield the model after each step, its gradients still in it.

    A rank takes every `world_size`th row: all together see the batch that one alone, with `world_size` 1,
    sees whole. The network is `linear`, `cnn` or `small`. More ranks than one need a process group.
    """
    images, labels = load_mnist(folder, train=True, samples=steps * global_batch).tensors
    images = images.to(getattr(torch, dtype))
    torch.manual_seed(0)
    model = (small_cnn() if network == "small" else build_model(network)).to(images.dtype)
    wrapped = DDP(model) if world_size > 1 else model
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    for start in range(0, steps * global_batch, global_batch):
        mine = slice(start + rank, start + global_batch, world_size)
        optimizer.zero_grad()
        nn.functional.cross_entropy(wrapped(images[mine]), labels[mine]).backward()
        optimizer.step()
        yield model


def furthest(model: nn.Module, other: nn.Module) -> float:
    """Return the largest difference between two models, in any weight and any gradient."""
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    return max(max((a - b).abs().max(), (a.grad - b.grad).abs().max()).item() for a, b in pairs)


def differences(*training: str | int) -> list[float]:
    """Train on all ranks, and on rank 0 alone beside them; there, return how far apart they are after each step.

    `training`: as `train_steps` takes it, from the network on. Other ranks return an empty list.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    together = train_steps(rank, world_size, *training)
    alone = train_steps(0, 1, *training) if rank == 0 else repeat(None)
    return [furthest(ours, its) for ours, its in zip(together, alone, strict=False) if its]


def compare_with_one_process() -> None:
    """Train the linear model on all ranks, and on rank 0 alone; print whether they agree within rounding."""
    for dtype, bound in BOUNDS.items():
        for optimizer in ("SGD", "momentum"):
            apart = differences("linear", optimizer, dtype)
            if apart:
                print(f"{dtype}, {optimizer}: within {bound:g}: {max(apart) < bound}")
