"""The same training, alone and shared among ranks, to compare every gradient and weight."""

from collections.abc import Iterator
from itertools import repeat

import torch
import torch.distributed as dist
from torch import Tensor, nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.model import build_model

BOUNDS = {"float64": 1e-12, "float32": 1e-5}
OPTIMIZERS = {
    "SGD": lambda weights: optim.SGD(weights, lr=0.01),
    "momentum": lambda weights: optim.SGD(weights, lr=0.01, momentum=0.9),
    "AdamW": lambda weights: optim.AdamW(weights, lr=0.001),
}


def small_cnn(norm: str = "GroupNorm", smooth: bool = False) -> nn.Module:
    """Return a CNN of some 9,000 weights, quick in float64; the norm is `GroupNorm`, `BatchNorm` or `Identity`.

    `smooth`: Tanh and AvgPool2d, where ReLU and MaxPool2d have kinks.
    """
    make = {"GroupNorm": lambda size: nn.GroupNorm(4, size), "BatchNorm": nn.BatchNorm2d, "Identity": nn.Identity}[norm]
    bend, pool = (nn.Tanh, nn.AvgPool2d) if smooth else (nn.ReLU, nn.MaxPool2d)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), make(8), bend(), pool(2),
        nn.Conv2d(8, 16, 3, padding=1), make(16), bend(), pool(2),
        nn.Flatten(), nn.Linear(16 * 7 * 7, 10),
    )  # fmt: skip


NETWORKS = {
    "linear": lambda: build_model("linear"),
    "cnn": lambda: build_model("cnn"),
    "small": small_cnn,
    "smooth": lambda: small_cnn(smooth=True),
}


def train_steps(
    rank: int, world_size: int, network: str = "linear", optimizer: str = "SGD", dtype: str = "float64",
    steps: int = 100, folder: str = "../data", global_batch: int = 64, backwards: bool = False, seed: int = 0,
) -> Iterator[nn.Module]:  # fmt: skip
    """Train on this rank's rows of each global batch; yield the model after each step, its gradients still in it.

    A rank takes every `world_size`th row: all together see the batch that one alone, with `world_size` 1,
    sees whole. More ranks than one need a process group. `backwards`: the rows of each batch, last one first.
    Raises ValueError for batches that the ranks cannot share equally.
    """
    if global_batch % world_size:
        raise ValueError(f"a batch of {global_batch} cannot be shared equally by {world_size} ranks")
    images, labels = load_mnist(folder, train=True, samples=steps * global_batch).tensors
    torch.manual_seed(seed)
    model = NETWORKS[network]().to(getattr(torch, dtype))
    wrapped = DDP(model) if world_size > 1 else model
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    for start in range(0, steps * global_batch, global_batch):
        mine = torch.arange(start + rank, start + global_batch, world_size)
        mine = mine.flip(0) if backwards else mine
        optimizer.zero_grad()
        logits = wrapped(images[mine].to(getattr(torch, dtype)))
        nn.functional.cross_entropy(logits, labels[mine]).backward()
        optimizer.step()
        yield model


def furthest(model: nn.Module, other: nn.Module) -> float:
    """Return the largest difference between two models, in any weight and any gradient."""
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    return torch.stack([x.sub(y).abs().max() for a, b in pairs for x, y in ((a, b), (a.grad, b.grad))]).max().item()


def differences(*training: str | int) -> list[float]:
    """Train on all ranks, and on rank 0 alone beside them; there, return how far apart they are after each step.

    `training` is what `train_steps` takes, from the network on. Other ranks return an empty list.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    together = train_steps(rank, world_size, *training)
    alone = train_steps(0, 1, *training) if rank == 0 else repeat(None)
    return [furthest(ours, its) for ours, its in zip(together, alone, strict=False) if its]


def rounding_bounds(network: str, dtype: str, folder: str = "../data", samples: int = 64) -> list[Tensor]:
    """Return, for each weight, how far apart two orders of adding up the samples' gradients can end.

    To add n numbers rounds n - 1 times, each time by at most u of what is added up, where u is half of the dtype's
    `eps`: the sum is off by at most (n - 1) u times the sum of the numbers' absolute values (Higham, Accuracy and
    Stability of Numerical Algorithms, 2002, section 4.2), and two orders are apart by twice that. Rounding within
    a sample, in forward and backward, is not counted. It is more than that where a sample's own gradient is what is
    left of large numbers, as that of a bias before a GroupNorm.
    """
    images, labels = load_mnist(folder, train=True, samples=samples).tensors
    torch.manual_seed(0)
    model = NETWORKS[network]().to(getattr(torch, dtype))
    sizes = [torch.zeros_like(weight) for weight in model.parameters()]
    for image, label in zip(images.to(getattr(torch, dtype)).split(1), labels.split(1), strict=True):
        model.zero_grad()
        nn.functional.cross_entropy(model(image), label).backward()
        for size, weight in zip(sizes, model.parameters(), strict=True):
            size += weight.grad.abs() / samples
    return [2 * (samples - 1) * torch.finfo(size.dtype).eps / 2 * size for size in sizes]


def share_of_bounds(network: str, dtype: str, folder: str = "../data") -> float | None:
    """Return the largest difference of all ranks' gradient from one process's, as a share of its rounding bound.

    All ranks call it, and rank 0 compares; the others return None.
    """
    first = network, "SGD", dtype, 1, folder
    together = next(train_steps(dist.get_rank(), dist.get_world_size(), *first))
    if dist.get_rank() != 0:
        return None
    alone = next(train_steps(0, 1, *first))
    grads = zip(together.parameters(), alone.parameters(), rounding_bounds(network, dtype, folder), strict=True)
    shares = [((ours.grad - its.grad).abs() / bound)[bound > 0].max() for ours, its, bound in grads]
    return torch.stack(shares).max().item()


def compare_with_one_process() -> None:
    """Train the linear model on all ranks, and on rank 0 alone; print whether they agree within rounding."""
    for dtype, bound in BOUNDS.items():
        for optimizer in ("SGD", "momentum"):
            apart = differences("linear", optimizer, dtype)
            if apart:
                print(f"{dtype}, {optimizer}: within {bound:g}: {max(apart) < bound}")
