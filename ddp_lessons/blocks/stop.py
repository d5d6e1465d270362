"""An orderly end, when one is asked for."""

import os
import signal
from collections.abc import Callable

import torch
import torch.distributed as dist


def listen_for_stop(launcher: int) -> Callable[[], bool]:
    """Return a function that tells whether this rank shall stop: it got SIGTERM or Ctrl-C, or its `launcher` died."""
    asked = []  # no threading.Event: a second signal in the middle of its set() would wait for itself
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.append(True))
    return lambda: bool(asked) or (dist.is_torchelastic_launched() and os.getppid() != launcher)


def any_rank(flag: bool, group) -> bool:
    """Return, on every rank, whether `flag` holds on one: all ranks of a gloo group call it, at the same step."""
    if not dist.is_initialized():
        return flag
    flags = torch.tensor(int(flag))
    dist.all_reduce(flags, dist.ReduceOp.MAX, group)
    return bool(flags)
