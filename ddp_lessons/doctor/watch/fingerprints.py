"""Fingerprints of tensors: numbers that are equal on two ranks if what they hold is equal, to the last bit.

A model is looked at on each of its first steps, and then as often as its size allows: a pure function of the step's
number and of the model's size, so that all ranks look at the same steps.
"""

import gc
import zlib
from collections.abc import Iterable

import torch
from torch import nn

NONE, ZERO = 0, 1  # the fingerprints of no tensor, and of a gradient that is zero everywhere
FIRST = 3  # steps that are looked at whatever it costs
BUDGET = 2**21  # bytes that are looked at in a step, on average
VALUES = 64  # numbers of each tensor that are kept at the end


def due(step: int, size: int) -> bool:
    """Tell whether tensors of `size` bytes are looked at on a step, counted from 0."""
    return step < FIRST or step % (1 + size // BUDGET) == 0


def size_of(tensors: Iterable[torch.Tensor]) -> int:
    """Return how many bytes tensors hold."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def is_plain(tensor: torch.Tensor | None) -> bool:
    """Tell whether a tensor is numbers on this CPU; those of a distributed one cannot be had without waiting."""
    if tensor is None or tensor.device.type != "cpu" or tensor.is_quantized:
        return False
    return type(tensor.detach()) is torch.Tensor


def fingerprint(tensor: torch.Tensor | None) -> int:
    """Return a tensor's fingerprint; NONE for one that is missing, or not plain."""
    if not is_plain(tensor):
        return NONE
    return zlib.crc32(dense(tensor).contiguous().reshape(-1).view(torch.uint8).numpy()) | 2


def of_gradients(parameters: Iterable[torch.Tensor]) -> list[int]:
    """Return the fingerprints of parameters' gradients, ZERO for one that is zero."""
    return of_gradients_and(parameters, True)[0]


def of_gradients_and(parameters: Iterable[torch.Tensor], looked_at: bool) -> tuple[list[int], dict[str, bool]]:
    """Return gradients' fingerprints, if they are `looked_at`, and whether all are `zero`, `finite`, and there is none.

    The sum of a gradient mostly says both that it is not zero and that it is finite, for a third of the price.
    """
    prints, zero, finite, none = [], True, True, True
    for parameter in parameters:
        gradient = parameter.grad
        none = none and gradient is None
        if not is_plain(gradient):
            zero = zero and gradient is None
            prints.append(NONE)
            continue
        total = dense(gradient).sum().item()
        nothing = total == 0 and not bool(dense(gradient).any())
        zero = zero and nothing
        finite = finite and (total - total == 0 or is_finite(gradient))
        prints.append(ZERO if nothing else fingerprint(gradient) if looked_at else NONE)
    return prints, {"zero": zero, "finite": finite, "none": none}


def is_finite(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is finite everywhere."""
    return bool(dense(tensor).isfinite().all())


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return what a tensor holds, without what autograd knows of it."""
    tensor = tensor.detach()
    return tensor if tensor.layout is torch.strided else tensor.to_dense()


def of_state(optimizer: torch.optim.Optimizer) -> int:
    """Return one fingerprint of all that an optimizer remembers of its parameters."""
    seen = 0
    for parameter in parameters_of(optimizer):
        for key, value in sorted(optimizer.state.get(parameter, {}).items(), key=lambda one: str(one[0])):
            number = fingerprint(value) if isinstance(value, torch.Tensor) else value
            seen = zlib.crc32(f"{key} {number if isinstance(number, int | float) else ''}".encode(), seen)
    return seen


def parameters_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """Return an optimizer's parameters, in order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def hyper(optimizer: torch.optim.Optimizer) -> list[dict]:
    """Return the numbers that an optimizer steps with, a dict for each group."""
    return [
        {key: value for key, given in group.items() if (value := plain(given)) is not None}
        for group in optimizer.param_groups
    ]


def plain(value: object) -> object:
    """Return a number, or a tuple of some, as JSON has it; None for all else."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, tuple | list) and len(value) < 9:
        return [plain(one) for one in value]
    return value if isinstance(value, int | float) else None


def named(parameters: list[torch.Tensor]) -> list[str]:
    """Return the names of parameters that belong to no wrapper: those in the outermost module that has them."""
    wanted, names = {id(parameter) for parameter in parameters}, {}
    for thing in gc.get_objects():
        if issubclass(type(thing), nn.Module) and "_parameters" in thing.__dict__:
            for name, parameter in thing.named_parameters():
                if id(parameter) in wanted and len(name) > len(names.get(id(parameter), "")):
                    names[id(parameter)] = name
    return [names.get(id(parameter), f"parameter {place}") for place, parameter in enumerate(parameters)]


def some_values(tensor: torch.Tensor) -> list[float]:
    """Return numbers of a tensor, evenly spread over it: all of them if they are few."""
    if not is_plain(tensor) or tensor.is_complex():
        return []
    flat = dense(tensor).reshape(-1)
    return flat[:: max(1, -(-flat.numel() // VALUES))].double().tolist()
