"""Rank 0 tests on its own: through DDP it may wait for the others, and with the bare model it never does."""

from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.ranks import gather
from ddp_lessons.workbench.broken.parts import network, samples


def through_ddp(wrapped: DDP, images: torch.Tensor) -> None:
    """Call the wrapper: in its forward DDP sends rank 0's buffers to all, if there are any, in eval and no_grad too."""
    wrapped(images)


def bare(wrapped: DDP, images: torch.Tensor) -> None:
    """Call the model inside: it knows of no ranks, and sends nothing."""
    wrapped.module(images)


def what_is_said(norm: str, test: Callable, folder: str = "../data", seconds: float = 2) -> str:
    """Return the error that ends a test on rank 0 alone, "none" if it ends well, in a group that waits so long."""
    wrapped = DDP(network(norm), process_group=dist.new_group(timeout=timedelta(seconds=seconds)))
    said = "none"
    if dist.get_rank() == 0:
        try:
            with torch.no_grad():
                wrapped.eval()
                for image in samples(folder)[0].split(8):
                    test(wrapped, image)
        except RuntimeError as error:
            said = str(error).split("] ")[-1]  # without the place in gloo's source
    return gather(said)[0]  # the others wait here, for rank 0


def measure(folder: str = "../data") -> dict[str, str]:
    """Return what ends the test on rank 0 in each case. All ranks call it."""
    return {
        f"{norm}, {test.__name__}": what_is_said(norm, test, folder)
        for norm in ("GroupNorm", "BatchNorm")
        for test in (through_ddp, bare)
    }
