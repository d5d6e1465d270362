"""Trainings in which the ranks' weights drift apart and nothing says so, but the alarm: each beside its repair.

A training takes the bare model and this rank's batches, and calls the alarm after each step of the optimizer.
"""

from collections.abc import Callable
from contextlib import nullcontext

import torch.distributed as dist
from torch import Tensor, nn, optim
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import parameters_to_vector

from ddp_lessons.blocks.drift import raise_on_drift
from ddp_lessons.workbench.broken.losses import divided_again, sum_loss, unequal_share
from ddp_lessons.workbench.broken.parts import mean_loss, my_share, network
from ddp_lessons.workbench.broken.syncs import clip_each_time

STEPS = 4
Batches = list[tuple[Tensor, Tensor]]


def module_called(wrapped: DDP, images: Tensor, labels: Tensor) -> None:
    """Leave each rank's own gradient: called past the wrapper, DDP sees no forward and averages nothing in backward."""
    mean_loss(wrapped.module, images, labels)


def no_sync_never_left(wrapped: DDP, images: Tensor, labels: Tensor) -> None:
    """Leave each rank's own gradient of two halves, counted from 0: the condition holds for both."""
    for half in range(2):
        with wrapped.no_sync() if half < 2 else nullcontext():
            loss = cross_entropy(wrapped(images[half::2]), labels[half::2]) / 2
            loss.backward()


def no_sync_left(wrapped: DDP, images: Tensor, labels: Tensor) -> None:
    """Leave the average of two halves, counted from 0: the second, which is number 1, is outside of `no_sync`."""
    for half in range(2):
        with wrapped.no_sync() if half < 1 else nullcontext():
            loss = cross_entropy(wrapped(images[half::2]), labels[half::2]) / 2
            loss.backward()


def train(model: nn.Module, batches: Batches, way: Callable = mean_loss, optimizer: type = optim.SGD) -> None:
    """Train through the wrapper, by any way to get a gradient; wrong on all ranks alike, it sets off no alarm."""
    wrapped, optimizer = DDP(model), optimizer(model.parameters(), lr=0.01)
    for step, (images, labels) in enumerate(batches, 1):
        optimizer.zero_grad()
        way(wrapped, images, labels)
        optimizer.step()
        raise_on_drift(model, f"step {step}")


def unfrozen_after_wrapping(model: nn.Module, batches: Batches) -> None:
    """Unfreeze the first layer before step 3: DDP has noted which weights learn, and does not average these."""
    model[0].requires_grad_(False)
    wrapped, optimizer = DDP(model), optim.SGD(model.parameters(), lr=0.01)
    for step, (images, labels) in enumerate(batches, 1):
        if step == 3:
            model[0].requires_grad_(True)
        optimizer.zero_grad()
        mean_loss(wrapped, images, labels)
        optimizer.step()
        raise_on_drift(model, f"step {step}")


def wrapped_again(model: nn.Module, batches: Batches) -> None:
    """Unfreeze the first layer before step 3, and wrap the model anew: now DDP averages these as well."""
    model[0].requires_grad_(False)
    wrapped, optimizer = DDP(model), optim.SGD(model.parameters(), lr=0.01)
    for step, (images, labels) in enumerate(batches, 1):
        if step == 3:
            model[0].requires_grad_(True)
            wrapped = DDP(model)
        optimizer.zero_grad()
        mean_loss(wrapped, images, labels)
        optimizer.step()
        raise_on_drift(model, f"step {step}")


def in_steps(images: Tensor, labels: Tensor) -> Batches:
    """Return a rank's share as a batch for each step."""
    return [(images[step::STEPS], labels[step::STEPS]) for step in range(STEPS)]


def apart(model: nn.Module) -> float:
    """Return how far the weights of any rank are from those of rank 0 at most."""
    weights = parameters_to_vector(model.parameters()).detach()
    first = weights.clone()
    dist.broadcast(first, 0)
    most = (weights - first).abs().max()
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return most.item()


def watch(training: Callable, model: nn.Module, batches: Batches, *more: object) -> dict[str, str | float]:
    """Run a training; return what the alarm says, and how far the ranks are apart then. All ranks call it."""
    try:
        training(model, batches, *more)
        alarm = "silent"
    except RuntimeError as error:
        alarm = str(error)
    return {"alarm": alarm, "apart": apart(model)}


def measure(folder: str = "../data") -> dict[str, dict[str, str | float]]:
    """Return what the alarm says of each training, and how far apart the ranks are then. All ranks call it."""
    share = in_steps(*my_share(folder))
    seen = {name: watch(training, network(), share, *way) for name, (training, *way) in TRAININGS.items()}
    return seen | {"unequal local batches": watch(train, network(), in_steps(*unequal_share(folder)))}


TRAININGS = {
    "module_called": (train, module_called), "wrapper_called": (train,),
    "unfrozen_after_wrapping": (unfrozen_after_wrapping,), "wrapped_again": (wrapped_again,),
    "no_sync_never_left": (train, no_sync_never_left), "no_sync_left": (train, no_sync_left),
    **{way.__name__: (train, way) for way in (sum_loss, divided_again, clip_each_time)},
}  # fmt: skip
