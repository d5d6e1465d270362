"""The same training, alone and shared among ranks, for comparing every gradient and weight."""

import torch
from torch import Tensor, nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.model import SimpleNN


def train_steps(
    rank: int, world_size: int, momentum: float, dtype: torch.dtype = torch.float64,
    folder: str = "../data", steps: int = 200, global_batch: int = 64,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Train on this rank's rows of each global batch; return all gradients and the last weights.

    A rank takes every `world_size`th row: all together see the batch that one, with `world_size` 1, sees
    whole. Gradients are (steps, 7850), weights (7850,). Two ranks and more need a process group.
    """
    images, labels = load_mnist(folder, train=True, samples=steps * global_batch).tensors
    torch.manual_seed(0)
    model = SimpleNN().to(dtype)
    wrapped = DDP(model) if world_size > 1 else model
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=momentum)
    gradients = []
    for start in range(0, steps * global_batch, global_batch):
        mine = slice(start + rank, start + global_batch, world_size)
        optimizer.zero_grad()
        nn.functional.cross_entropy(wrapped(images[mine].to(dtype)), labels[mine]).backward()
        optimizer.step()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    return torch.stack(gradients), nn.utils.parameters_to_vector(model.parameters()).detach()
