"""When DDP averages: gradient accumulation, with all-reduces counted, and clipping before the average and after it."""

from collections.abc import Callable
from contextlib import nullcontext

from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from ddp_lessons.blocks.ranks import gather
from ddp_lessons.workbench.broken.parts import (
    gap,
    gradient,
    gradient_alone,
    gradient_of,
    mean_loss,
    my_share,
    network,
    relative,
)

MICRO_BATCHES = 4
LENGTH = 1.0  # of a clipped gradient; unclipped it is above 5
VALUE = 0.05  # of any number of a gradient, at most


def micro_batches(images: Tensor, labels: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Return a rank's share in equal parts, each small enough for its memory."""
    return [(images[place::MICRO_BATCHES], labels[place::MICRO_BATCHES]) for place in range(MICRO_BATCHES)]


def sync_every_time(wrapped: DDP, images: Tensor, labels: Tensor) -> None:
    """Leave the right gradient, averaged after each micro-batch, where once would do."""
    for part, targets in micro_batches(images, labels):
        loss = cross_entropy(wrapped(part), targets) / MICRO_BATCHES
        loss.backward()


def sync_at_the_end(wrapped: DDP, images: Tensor, labels: Tensor) -> None:
    """Leave the right gradient, averaged once: forward and backward of all but the last are inside `no_sync`."""
    for number, (part, targets) in enumerate(micro_batches(images, labels), 1):
        with wrapped.no_sync() if number < MICRO_BATCHES else nullcontext():
            loss = cross_entropy(wrapped(part), targets) / MICRO_BATCHES
            loss.backward()


def no_sync_in_backward(wrapped: DDP, images: Tensor, labels: Tensor) -> None:
    """Leave the right gradient, averaged each time: DDP asks in forward whether it is to, and backward is too late."""
    for number, (part, targets) in enumerate(micro_batches(images, labels), 1):
        loss = cross_entropy(wrapped(part), targets) / MICRO_BATCHES
        with wrapped.no_sync() if number < MICRO_BATCHES else nullcontext():
            loss.backward()


def not_divided(wrapped: DDP, images: Tensor, labels: Tensor) -> None:
    """Leave a gradient four times too large: backward adds up, and four means are added."""
    for number, (part, targets) in enumerate(micro_batches(images, labels), 1):
        with wrapped.no_sync() if number < MICRO_BATCHES else nullcontext():
            loss = cross_entropy(wrapped(part), targets)
            loss.backward()


def clip_each_time(wrapped: DDP, images: Tensor, labels: Tensor) -> None:
    """Leave a wrong direction: inside `no_sync` each rank clips a part of its own gradient, by its own length.

    One process that clips in each micro-batch is wrong as well; hooks, below, harm ranks alone.
    """
    for number, (part, targets) in enumerate(micro_batches(images, labels), 1):
        with wrapped.no_sync() if number < MICRO_BATCHES else nullcontext():
            loss = cross_entropy(wrapped(part), targets) / MICRO_BATCHES
            loss.backward()
        clip_grad_norm_(wrapped.parameters(), LENGTH)


def clip_at_the_end(wrapped: DDP, images: Tensor, labels: Tensor) -> None:
    """Leave the gradient that one process clips: the last backward averages it, then all ranks clip the same."""
    for number, (part, targets) in enumerate(micro_batches(images, labels), 1):
        with wrapped.no_sync() if number < MICRO_BATCHES else nullcontext():
            loss = cross_entropy(wrapped(part), targets) / MICRO_BATCHES
            loss.backward()
    clip_grad_norm_(wrapped.parameters(), LENGTH)


def clip_in_hooks(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Leave an average of clipped gradients: a hook on a weight sees it before DDP does. One process is not harmed."""
    for weight in model.parameters():
        weight.register_hook(lambda grad: grad.clamp(-VALUE, VALUE))
    cross_entropy(model(images), labels).backward()


def clip_after_backward(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Leave the average, clipped: what the hooks give in one process."""
    cross_entropy(model(images), labels).backward()
    clip_grad_value_(model.parameters(), VALUE)


def clipped_alone(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Leave the clipped gradient of one process, which needs no micro-batches: what `clip_at_the_end` is to leave."""
    mean_loss(model, images, labels)
    clip_grad_norm_(model.parameters(), LENGTH)


def gap_and_all_reduces(way: Callable, folder: str = "../data") -> tuple[float, int]:
    """Return how far a way's gradient is from one process's, and how often DDP averaged for it."""
    ours, all_reduces = gradient_of(way, network(), my_share(folder))
    return relative(ours, gradient_alone(folder=folder)), all_reduces


def lengths(folder: str = "../data") -> tuple[float, float]:
    """Return the length of this rank's own gradient, and of the average: clipping asks for it before, or after."""
    model = network()
    mean_loss(model, *my_share(folder))
    return gradient(model).norm().item(), gradient_of(mean_loss, network(), my_share(folder))[0].norm().item()


def measure(folder: str = "../data") -> dict[str, float | str]:
    """Return how far each way's gradient is from one process's, relative to that, and how often DDP averaged."""
    table = {}
    for way in (sync_every_time, sync_at_the_end, no_sync_in_backward, not_divided):
        table[way.__name__], table[f"{way.__name__}, all-reduces"] = gap_and_all_reduces(way, folder)
    own, table["length of the average"] = lengths(folder)
    table["length of each rank's gradient"] = ", ".join(f"{each:.3f}" for each in gather(own))
    for way, alone in CLIPPING.items():
        table[way.__name__] = gap(way, alone, folder=folder)
    return table


CLIPPING = {  # and what is to come of it, in one process
    clip_each_time: clipped_alone, clip_at_the_end: clipped_alone,
    clip_in_hooks: clip_in_hooks, clip_after_backward: clip_in_hooks,
}  # fmt: skip
