"""Layers for which N ranks are not one process: BatchNorm, and all that draws random numbers."""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed._functional_collectives import all_reduce  # has a gradient; torch advises it
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision.transforms import InterpolationMode, RandomRotation

from ddp_lessons.blocks.ranks import gather
from ddp_lessons.workbench.broken.parts import (
    gap,
    gradient_alone,
    gradient_of,
    mean_loss,
    my_share,
    network,
    relative,
    samples,
)

DRAWS = 500


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


def same_mask() -> Tensor:
    """Draw a dropout mask where each rank has the same seed: the same on every rank."""
    torch.manual_seed(0)
    return nn.functional.dropout(torch.ones(DRAWS, 64), 0.5)


def own_mask() -> Tensor:
    """Draw a dropout mask where the seed has the rank in it: another on every rank.

    What comes of it is right in law, not in bits: one process draws one mask of the whole batch, and no seed makes N
    ranks draw its parts. The weights need no equal seeds: DDP sends rank 0's.
    """
    torch.manual_seed(0 + dist.get_rank())
    return nn.functional.dropout(torch.ones(DRAWS, 64), 0.5)


def noise_left(draw) -> float:
    """Return the variance of a mask's noise averaged over ranks; a single mask's, of 0 and 2, is 1.

    Where each rank draws its own, 1/world_size is left. Of noise that is the same on all ranks nothing averages out:
    it is world_size times too large.
    """
    mask = draw()
    dist.all_reduce(mask, dist.ReduceOp.AVG)
    return mask.var().item()


def different_images(seed: int, folder: str = "../data") -> int:
    """Rotate one image eight times on each rank, by random angles; return how many different ones all ranks have made.

    Give each rank another seed, such as its rank: with the same one, the ranks augment in the same way.
    """
    torch.manual_seed(seed)
    rotate, image = RandomRotation(15, InterpolationMode.BILINEAR), samples(folder)[0][0]
    made = gather([rotate(image).numpy().tobytes() for _ in range(8)])
    return len({pixels for of_rank in made for pixels in of_rank})


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
        "dropout, same seed: noise left": round(noise_left(same_mask), 1),  # not every CPU draws the same masks
        "dropout, seed + rank: noise left": round(noise_left(own_mask), 1),
        "augmentation, same seed: different images": different_images(0, folder),
        "augmentation, seed + rank: different images": different_images(dist.get_rank(), folder),
    }
