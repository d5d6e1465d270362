"""Why ranks need equal shares: DDP averages the ranks' means, which is not the mean over all samples."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import nn

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.model import build_model
from ddp_lessons.workbench.pictures.picture import (
    INK,
    PALE,
    PAPER,
    Picture,
    box,
    color_of,
    line,
    slider,
    switch,
    text,
)
from ddp_lessons.workbench.scripts import ROOT

SAMPLES, SETS = 8, 10  # images that the ranks share, and how many such sets there are to choose from
LEFT, RIGHT, TOP, ROW = 168, 562, 30, 22  # pixels: where gradients begin and end; where images begin, and their height
DDP_TOP, TRUE_TOP, AXIS = 216, 264, 304  # where what DDP gives, the mean of all, and the numbers are

At = Callable[[float], float]  # where a gradient is, from left to right


class Shared(NamedTuple):
    """The gradient of one weight, for eight images that ranks share."""

    weight: tuple[int, int]  # to which digit, from which pixel
    each: list[float]  # of every image alone
    means: list[float]  # of every rank
    ddp: float  # what DDP gives all ranks
    true: float  # of all images in one batch


class UnequalShares(Picture):
    """Eight images in unequal shares: what DDP makes of the ranks' gradients, and what one process gets.

    Drawn for one weight of the course's linear model, the one on whose gradient the eight differ most.
    """

    def __init__(self, ranks: int = 2, first: int = 2, weighted: bool = False, images: int = 0):
        super().__init__(
            ranks=slider("ranks", 2, 4, ranks),
            first=slider("on rank 0", 1, SAMPLES + 1 - ranks, first),
            weighted=switch("weight by count", weighted),
            images=slider("images no.", 0, SETS - 1, images),
        )

    def limits(self, ranks: int, **_: int | bool) -> dict[str, int]:
        """Return how many images rank 0 can have, if each other rank has one."""
        return {"first": SAMPLES + 1 - ranks}

    def draw(self, ranks: int, first: int, weighted: bool, images: int) -> tuple[list[str], str]:
        """Compute the gradients; return them as dots, ranks' means and averages as lines, and the same in words."""
        counts = shares_of(ranks, first)
        shared = share(images, tuple(counts), weighted)
        digit, pixel = shared.weight
        at, title = scale(shared.each), f"from the pixel in row {pixel // 28}, column {pixel % 28}, to digit {digit}"
        parts = [f"{count}/{SAMPLES}" if weighted else f"1/{ranks}" for count in counts]
        shapes = [text(8, 18, f"Gradient of one weight, {title}", size=13), *axis(at)]
        shapes += draw_shares(shared, counts, parts, images, at) + draw_averages(shared, weighted, at)
        terms = " + ".join(f"{part} × {mean:.4f}" for part, mean in zip(parts, shared.means, strict=True))
        said = f"{ranks} ranks have {listed(counts)} of {SAMPLES} images. Gradient of one weight, {title}: "
        said += f"the ranks' means are {listed([f'{mean:.4f}' for mean in shared.means])}. DDP gives the "
        said += f"{name_of(weighted)}, {terms} = {shared.ddp:.4f}. The mean of all {SAMPLES} is {shared.true:.4f}: "
        return shapes, f"{said}{gap_of(shared)}."


def shares_of(ranks: int, first: int) -> list[int]:
    """Return how many images each rank has: rank 0 the `first`, the others as equal a share of the rest as can be."""
    return [first, *(len(part) for part in torch.arange(SAMPLES - first).tensor_split(ranks - 1))]


@cache
def share(images: int, counts: tuple[int, ...], weighted: bool) -> Shared:
    """Return what DDP makes of the gradients when the ranks have so many images each of a set."""
    model, batch, ranks = new_model(), images_and_labels(images), len(counts)
    alone = torch.stack([gradient(model, *image) for image in cut(batch, [1] * SAMPLES)])
    weight = divmod(alone.var(dim=0).argmax().item(), alone.shape[-1])  # where the images differ most
    pieces = cut(batch, counts)
    means = [gradient(model, *piece)[weight].item() for piece in pieces]
    factors = [count * ranks / SAMPLES if weighted else 1 for count in counts]  # of each rank's loss
    sent = [gradient(model, *piece, factor)[weight] for piece, factor in zip(pieces, factors, strict=True)]
    ddp = sum(mine / ranks for mine in sent).item()  # as DDP: each divided by the number of ranks, all added up
    return Shared(weight, [one[weight].item() for one in alone], means, ddp, gradient(model, *batch)[weight].item())


def new_model() -> nn.Module:
    """Return the linear model before training, in float64: a gap that is rounding then shows as none."""
    with torch.random.fork_rng(devices=[]):  # the reader's own random numbers stay as they are
        torch.manual_seed(0)
        return build_model("linear").double()


@cache
def all_images() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the images of all sets, float64, and their labels."""
    images, labels = load_mnist(str(ROOT / "data"), train=True, samples=SETS * SAMPLES).tensors
    return images.double(), labels


def images_and_labels(images: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a set of images, and their labels."""
    return tuple(part[images * SAMPLES : (images + 1) * SAMPLES] for part in all_images())


def cut(batch: tuple[torch.Tensor, torch.Tensor], counts: Sequence[int]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return a batch in pieces of so many images."""
    return list(zip(*(part.split(list(counts)) for part in batch), strict=True))


def gradient(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, factor: float = 1) -> torch.Tensor:
    """Return the gradient (10, 784) of the mean loss times a factor: what backward leaves on one rank."""
    loss = nn.functional.cross_entropy(model(images), labels) * factor
    return torch.autograd.grad(loss, model.fc.weight)[0]


def name_of(weighted: bool) -> str:
    """Return what DDP gives."""
    return "mean weighted by count" if weighted else "mean of means"


def gap_of(shared: Shared) -> str:
    """Return how far DDP is from the mean of all, in words."""
    gap = abs(shared.ddp - shared.true)
    return f"a gap of {gap:.4f}" if gap > 1e-12 else "no gap"


def listed(things: list) -> str:
    """Return things with commas, and an `and` before the last."""
    *others, last = map(str, things)
    return f"{', '.join(others)} and {last}"


def scale(each: list[float]) -> At:
    """Return the scale on which 0 and all gradients fill the picture from left to right."""
    least, most = min(*each, 0), max(*each, 0)
    return lambda gradient: LEFT + (gradient - least) / (most - least) * (RIGHT - LEFT)


def draw_shares(shared: Shared, counts: list[int], parts: list[str], images: int, at: At) -> list[str]:
    """Return a row for each image with its gradient as a dot, and each rank's mean as a line through its rows."""
    shapes, labels = [], images_and_labels(images)[1].tolist()
    for rank, (count, end) in enumerate(zip(counts, accumulate(counts), strict=True)):
        y, high, (color, ink), mean = TOP + (end - count) * ROW, count * ROW, color_of(rank), shared.means[rank]
        shapes += [box(8, y + 1, 54, high - 2, color, PAPER), text(35, y + high / 2 + 4, f"rank {rank}", ink, "middle")]
        shapes += [line(at(mean), y + 1, at(mean), y + high - 1, color, 5)]
        shapes += [text(RIGHT + 14, y + high / 2 + 4, f"mean of {count}: {mean:.4f}, times {parts[rank]}")]
        for image in range(end - count, end):
            middle = TOP + image * ROW + ROW / 2
            shapes.append(text(70, middle + 4, f"image {images * SAMPLES + image}: a {labels[image]}", size=11))
            shapes.append(dot(at(shared.each[image]), middle, color))
    return shapes


def draw_averages(shared: Shared, weighted: bool, at: At) -> list[str]:
    """Return what DDP gives and the mean of all, one below the other, and the gap between them."""
    averages = (DDP_TOP, shared.ddp, f"DDP: {name_of(weighted)}"), (TRUE_TOP, shared.true, f"mean of all {SAMPLES}")
    shapes = [line(8, DDP_TOP - 5, RIGHT, DDP_TOP - 5)]
    for y, value, name in averages:
        shapes += [text(8, y + 15, name), line(at(value), y, at(value), y + 22, INK, 5)]
        shapes += [text(RIGHT + 14, y + 15, f"{value:.4f}")]
    shapes.append(line(at(shared.ddp), DDP_TOP + 35, at(shared.true), DDP_TOP + 35, INK, 3))
    return [*shapes, text(RIGHT + 14, DDP_TOP + 39, gap_of(shared))]


def dot(x: float, y: float, color: str) -> str:
    """Return a filled circle."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="{color}" stroke="{INK}"/>'


def axis(at: At) -> list[str]:
    """Return the numbers below, in steps of a fifth, and 0 as a line through all rows."""
    shapes = [line(at(0), TOP, at(0), AXIS, PALE), line(LEFT, AXIS, RIGHT, AXIS)]
    for tick in (number / 5 for number in range(-5, 6)):
        if LEFT <= at(tick) <= RIGHT:
            shapes.append(line(at(tick), AXIS, at(tick), AXIS + 4))
            shapes.append(text(at(tick), AXIS + 16, f"{tick:g}", INK, "middle", 11))
    return [*shapes, text(RIGHT + 14, AXIS + 16, "gradient", size=11)]
