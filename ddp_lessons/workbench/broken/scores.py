"""The score of a test set that ranks share: wrong in three ways, and exact."""

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.model import build_model
from ddp_lessons.blocks.train import train_epoch


def trained_model(folder: str = "../data") -> nn.Module:
    """Return the linear model after 40 steps of 32 images: it still gets a quarter of the digits wrong."""
    torch.manual_seed(0)
    model = build_model("linear")
    loader = DataLoader(load_mnist(folder, train=True, samples=1280), 32, collate_fn=tuple)
    train_epoch(model, loader, torch.optim.SGD(model.parameters(), lr=0.01), "cpu")
    return model.eval()


@torch.no_grad()
def right_and_all(model: nn.Module, samples, mine) -> torch.Tensor:
    """Return how many of the samples numbered `mine` the model gets right, and how many those are."""
    numbers = torch.tensor(list(mine), dtype=torch.long)
    images, labels = (tensor[numbers] for tensor in samples.tensors)
    return torch.tensor([(model(images).argmax(dim=1) == labels).sum().item(), len(labels)], dtype=torch.float64)


def summed(model: nn.Module, samples, mine) -> str:
    """Return the score of all ranks' shares: right answers and samples are added up, then divided."""
    counts = right_and_all(model, samples, mine)
    dist.all_reduce(counts)
    right, count = counts.tolist()
    return f"{right:.0f} of {count:.0f} right, {right / count:.4f}"


def padded(model: nn.Module, samples) -> str:
    """Deal out the samples by DistributedSampler, which repeats the first ones until all ranks have as many."""
    return summed(model, samples, DistributedSampler(samples, shuffle=False))


def dropped(model: nn.Module, samples) -> str:
    """Deal out the samples by DistributedSampler, which leaves out the last ones with `drop_last`."""
    return summed(model, samples, DistributedSampler(samples, shuffle=False, drop_last=True))


def mean_of_means(model: nn.Module, samples) -> str:
    """Take every sample once, and the mean of the ranks' own scores: a sample of a small share counts more."""
    right, count = right_and_all(model, samples, range(dist.get_rank(), len(samples), dist.get_world_size()))
    mean = right / count / dist.get_world_size()
    dist.all_reduce(mean)
    return f"{mean.item():.4f}"


def exact(model: nn.Module, samples) -> str:
    """Take every sample once, on whatever rank, and add up before dividing."""
    return summed(model, samples, range(dist.get_rank(), len(samples), dist.get_world_size()))


def measure(samples: int, folder: str = "../data") -> dict[str, str]:
    """Return the score of the first so many test images in each way, and that of one process. All ranks call it."""
    model, images = trained_model(folder), load_mnist(folder, train=False, samples=samples)
    right, count = right_and_all(model, images, range(samples)).tolist()
    ways = {way.__name__: way(model, images) for way in (padded, dropped, mean_of_means, exact)}
    return {"one process": f"{right:.0f} of {count:.0f} right, {right / count:.4f}", **ways}
