"""The same training, alone and shared among ranks, to compare every gradient and weight."""

import torch
import torch.distributed as dist
from torch import Tensor, nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.model import build_model

BOUNDS = {torch.float64: 1e-12, torch.float32: 1e-5}


def train_steps(
    rank: int, world_size: int, momentum: float, dtype: torch.dtype = torch.float64,
    folder: str = "../data", steps: int = 100, global_batch: int = 64,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Train on this rank's rows of each global batch; return gradients and weights.

    A rank takes every `world_size`th row: all together see the batch that one alone,
    with `world_size` 1, sees whole. Gradients are those of all steps, (steps, 7850);
    weights are the last ones, (7850,). More ranks than one need a process group.
    """
    images, labels = load_mnist(folder, train=True, samples=steps * global_batch).tensors
    torch.manual_seed(0)
    model = build_model("linear").to(dtype)
    wrapped = DDP(model) if world_size > 1 else model
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=momentum)
    gradients = []
    for start in range(0, steps * global_batch, global_batch):
        mine = slice(start + rank, start + global_batch, world_size)
        optimizer.zero_grad()
        logits = wrapped(images[mine].to(dtype))
        nn.functional.cross_entropy(logits, labels[mine]).backward()
        optimizer.step()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    return torch.stack(gradients), nn.utils.parameters_to_vector(model.parameters()).detach()


def compare_with_one_process() -> None:
    """Train on all ranks, and on rank 0 alone; print whether they agree within rounding."""
    for dtype, bound in BOUNDS.items():
        for momentum in (0.0, 0.9):
            together = train_steps(dist.get_rank(), dist.get_world_size(), momentum, dtype)
            if dist.get_rank() == 0:
                alone = train_steps(0, 1, momentum, dtype)
                pairs = zip(together, alone, strict=True)
                difference = max((ours - its).abs().max().item() for ours, its in pairs)
                print(f"{dtype}, momentum {momentum}: within {bound:g}: {difference < bound}")
