"""What all ways share: 64 images, a network, and how far this rank's gradient is from that of one process.

A way is a function of the wrapped model and this rank's images and labels, and does what stands in a training loop
between `zero_grad` and `optimizer.step`: it leaves a gradient.
"""

from collections.abc import Callable
from functools import cache

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.futures import Future
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.workbench.proof import small_cnn


def mean_loss(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Leave the gradient of the mean loss: what one process does, and right under DDP if shares are equal."""
    cross_entropy(model(images), labels).backward()


@cache
def samples(folder: str = "../data") -> tuple[Tensor, Tensor]:
    """Return the first 64 images of MNIST, float64, (64, 1, 28, 28), and their labels, (64,)."""
    images, labels = load_mnist(folder, train=True, samples=64).tensors
    return images.double(), labels


def my_share(folder: str = "../data") -> tuple[Tensor, Tensor]:
    """Return this rank's images and labels: every `world_size`th of the 64. Raises ValueError for unequal shares."""
    images, labels = samples(folder)
    mine = slice(dist.get_rank(), None, dist.get_world_size())
    if len(labels) % dist.get_world_size():
        raise ValueError(f"{len(labels)} images cannot be shared equally by {dist.get_world_size()} ranks")
    return images[mine], labels[mine]


def network(norm: str = "GroupNorm") -> nn.Module:
    """Return the small CNN in float64, with the same weights at each call and on each rank."""
    torch.manual_seed(0)
    return small_cnn(norm).double()


def gradient(model: nn.Module) -> Tensor:
    """Return the gradient of all weights as one vector, a copy."""
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])


def gradient_alone(way: Callable = mean_loss, norm: str = "GroupNorm", folder: str = "../data") -> Tensor:
    """Return the gradient that one process gets from all 64 samples: no DDP, no messages."""
    model = network(norm)
    way(model, *samples(folder))
    return gradient(model)


def gradient_of(way: Callable, model: nn.Module, share: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
    """Return the gradient that a way leaves on this rank under DDP, and how many all-reduces DDP made for it."""
    wrapped, sent = DDP(model), []
    wrapped.register_comm_hook(sent, note_and_average)
    way(wrapped, *share)
    return gradient(model), len(sent)


def note_and_average(sent: list[int], bucket: dist.GradBucket) -> Future[Tensor]:
    """Note the size of a bucket, and average it as DDP does. DDP calls this for each bucket that it sends."""
    sent.append(bucket.buffer().numel())
    return allreduce_hook(None, bucket)


def relative(ours: Tensor, right: Tensor) -> float:
    """Return how far a gradient is from the right one, as a share of the right one's length."""
    return ((ours - right).norm() / right.norm()).item()


def gap(way: Callable, alone: Callable = mean_loss, norm: str = "GroupNorm", folder: str = "../data") -> float:
    """Return how far a way's gradient on this rank is from that of `alone` in one process, relative to that.

    All ranks call it: `on_ranks(2, gap, sum_loss, sum_loss)`. Rounding leaves about 1e-15.
    """
    ours, _ = gradient_of(way, network(norm), my_share(folder))
    return relative(ours, gradient_alone(alone, norm, folder))
