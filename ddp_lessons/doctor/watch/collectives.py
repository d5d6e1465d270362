"""Notes every call in which a rank waits for others, when it begins and when it has ended.

Events:
`call`: `name`, `number` (of this rank's calls), and what the name needs: `shape`, `dtype`, `group`, ….
`done`: the call of that `number` has come back; `error` if it failed.
DDP's own are noted by `training.py`: "DistributedDataParallel" (made), "buffers" (a forward that broadcasts them),
"backward" (which reduces gradients).
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist

from ddp_lessons.doctor.journal import Journal

NAMES = ["all_reduce", "broadcast", "reduce", "all_gather", "all_gather_object", "barrier"]

numbers = itertools.count()
depth = 0  # a call within a call is torch's own affair


@contextlib.contextmanager
def waiting(journal: Journal | None, name: str | None = None, **more: object) -> Iterator[None]:
    """Note a call in which this rank may wait for others, unless it has no name or is part of another."""
    global depth
    if not name or depth:
        yield
        return
    call = next(numbers)
    journal.note("call", name=name, number=call, **more)
    depth += 1
    try:
        yield
    except BaseException as error:
        journal.note("done", number=call, error=f"{type(error).__name__}: {error}")
        raise
    finally:
        depth -= 1
    journal.note("done", number=call)


def watched(journal: Journal, name: str, function: Callable) -> Callable:
    """Return the function, noted."""

    @functools.wraps(function)
    def noted(*args, **kwargs):
        tensors = [value for value in [*args, *kwargs.values()] if isinstance(value, torch.Tensor)][:1]
        about = [{"shape": list(tensor.shape), "dtype": str(tensor.dtype)} for tensor in tensors]
        with waiting(journal, name, **(about[0] if about else {})):
            return function(*args, **kwargs)

    return noted


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on."""
    for name in NAMES:
        setattr(dist, name, watched(journal, name, getattr(dist, name)))
