"""Layers for which N ranks are not one process: BatchNorm, and all that draws random numbers."""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed._functional_collectives import all_reduce  # has a gradient; torch advises it
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision.transforms import RandomRotation

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
    samples,
)

DRAWS = 100  # of masks


class SharedBatchNorm(nn.BatchNorm2d):
    """BatchNorm in training by the mean and variance of all ranks' samples, of which each rank has equally many.

    The average over ranks is part of the graph, so backward averages too: gradients flow to the samples of all ranks.
    """

    def forward(self, images: Tensor) -> Tensor:
        """Normalise each channel. Running statistics are left out."""
        local = torch.stack([images.mean((0, 2, 3)), images.square().mean((0, 2, 3))])
        mean, square = all_reduce(local, "avg", dist.group.WORLD)
        scale = self.weight / (square - mean.square() + self.eps).sqrt()
        return images * scale[:, None, None] + (self.bias - mean * scale)[:, None, None]


def share_statistics(model: nn.Sequential) -> nn.Sequential:
    """Return the model with a SharedBatchNorm in the place of each BatchNorm: what SyncBatchNorm does on GPUs."""
    for place, layer in enumerate(model):
        if isinstance(layer, nn.BatchNorm2d):
            model[place] = SharedBatchNorm(layer.num_features, dtype=layer.weight.dtype)
    return model


def gap_with_shared_statistics(folder: str = "../data") -> float:
    """Return how far the gradient is from that of one process with plain BatchNorm."""
    ours, _ = gradient_of(mean_loss, share_statistics(network("BatchNorm")), my_share(folder))
    return relative(ours, gradient_alone(norm="BatchNorm", folder=folder))


def gap_with_sync_batch_norm(folder: str = "../data") -> float | str:
    """Return how far the gradient is from that of one process with plain BatchNorm; on a CPU, what torch says.

    SyncBatchNorm is for GPUs only. Ranks that share a card run it over gloo.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.SyncBatchNorm.convert_sync_batchnorm(network("BatchNorm")).to(device)
    try:
        ours, _ = gradient_of(mean_loss, model, [tensor.to(device) for tensor in my_share(folder)])
    except ValueError as error:
        return str(error)
    return relative(ours.cpu(), gradient_alone(norm="BatchNorm", folder=folder))


def running_means(folder: str = "../data") -> dict[str, list[list[float]]]:
    """Return each rank's running means, a step of training later, and again after the next forward has begun.

    A forward through DDP begins by sending rank 0's buffers to all: what the other ranks had gathered is lost.
    """
    model = network("BatchNorm")
    wrapped = DDP(model)
    mean_loss(wrapped, *my_share(folder))
    after_step = gather(model[1].running_mean.tolist())
    wrapped.eval()(my_share(folder)[0])  # in eval mode nothing is added to them
    return {"after a step": after_step, "after the next broadcast": gather(model[1].running_mean.tolist())}


def different_angles(seed: int) -> int:
    """Draw eight angles of rotation on each rank; return how many different ones all ranks have drawn.

    With one seed on all ranks, all draw the same. With the rank in it, each draws its own.
    """
    torch.manual_seed(seed)
    drawn = gather([RandomRotation.get_params([-15.0, 15.0]) for _ in range(8)])
    return len({angle for of_rank in drawn for angle in of_rank})


def dropout_noise(seed: int, share: tuple[Tensor, Tensor], alone: bool = False) -> float:
    """Return by how much the gradient changes from one dropout mask to the next: its variance, of all weights together.

    It is right if ranks lower it as a batch does that is world_size times as large: in law, not in bits, since one
    process draws another mask. `alone`: without DDP.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(28 * 28, 10)).double()
    wrapped = model if alone else DDP(model)
    torch.manual_seed(seed)
    gradients = []
    for _ in range(DRAWS):
        model.zero_grad()
        mean_loss(wrapped, *share)
        gradients.append(gradient(model))
    return torch.stack(gradients).var(0).sum().item()


def noise_left(folder: str = "../data") -> dict[str, float]:
    """Return what share of one rank's dropout noise is left when ranks average, by whose samples and whose seed."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mine, rank_0s = my_share(folder), tuple(tensor[::world_size] for tensor in samples(folder))
    one = dropout_noise(rank, mine, alone=True)
    alone = {"other samples": sum(gather(one)) / world_size, "the same samples": gather(one)[0]}
    return {
        f"{whose}, {how}": dropout_noise(seed, share) / alone[whose]
        for whose, share in {"other samples": mine, "the same samples": rank_0s}.items()
        for how, seed in {"same seed": 0, "seed + rank": rank}.items()
    }


def spread(ranks: list[list[float]]) -> float:
    """Return how far any rank's numbers are from rank 0's at most."""
    return (torch.tensor(ranks) - torch.tensor(ranks[0])).abs().max().item()


def measure(folder: str = "../data") -> dict[str, float | str]:
    """Return how far each gradient is from one process's, how far ranks' statistics part, and what noise is left."""
    means = running_means(folder)
    return {
        "GroupNorm": gap(mean_loss, folder=folder),
        "BatchNorm": gap(mean_loss, norm="BatchNorm", folder=folder),
        "SharedBatchNorm": gap_with_shared_statistics(folder),
        "SyncBatchNorm": gap_with_sync_batch_norm(folder),
        **{f"running means apart, {when}": spread(ranks) for when, ranks in means.items()},
        "different angles drawn, same seed": different_angles(0),
        "different angles drawn, seed + rank": different_angles(dist.get_rank()),
        **{f"dropout noise left, {case}": round(left, 1) for case, left in noise_left(folder).items()},
    }
