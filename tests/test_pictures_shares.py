"""Unequal shares: every number shown, against autograd on the whole batch, and against DDP on real ranks."""

import re
from functools import cache

import pytest
import torch
from drawn import corners, shapes_of
from ranks import run_ranks
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision import datasets

from ddp_lessons.workbench.pictures.picture import color_of
from ddp_lessons.workbench.pictures.shares import UnequalShares
from ddp_lessons.workbench.scripts import ROOT

NUMBER = r"-?\d\.\d{4}"
CLOSE = 0.00005 + 1e-9  # half a unit of the last digit shown


@cache
def eight(number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a set of eight images and labels, read by torchvision alone."""
    mnist, rows = datasets.MNIST(ROOT / "data"), slice(8 * number, 8 * number + 8)
    return mnist.data[rows].double() / 255, mnist.targets[rows]


def linear() -> nn.Sequential:
    """Return the course's linear model as its first weights are, made by hand."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10)).double()


def gradient(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the gradient of one batch, by autograd."""
    model = linear()
    nn.functional.cross_entropy(model(images), labels).backward()
    return model[1].weight.grad


def by_ddp(rank: int, world_size: int, counts: list[int], number: int, weighted: bool) -> torch.Tensor:
    """Return the gradient that DDP gives a rank that has so many of the images."""
    images, labels = (part.split(counts)[rank] for part in eight(number))
    model = linear()
    wrapped = DDP(model)  # by name: one that is dropped before backward averages nothing
    loss = nn.functional.cross_entropy(wrapped(images), labels)
    (loss * len(labels) * world_size / 8 if weighted else loss).backward()
    return model[1].weight.grad


def shown(picture: UnequalShares) -> tuple[tuple[int, int], list[int], list[float], float, float]:
    """Return what the words say: the weight, the counts, the ranks' means, what DDP gives, and the mean of all."""
    row, column, digit = map(int, re.search(r"row (\d+), column (\d+), to digit (\d)", picture.words).groups())
    counts = [int(count) for count in re.findall(r"\d", picture.words.partition("have")[2].partition(" of ")[0])]
    means = re.findall(NUMBER, re.search(r"means are (.*?)\. DDP", picture.words)[1])
    ddp, true = re.search(rf"= ({NUMBER})\. The mean of all 8 is ({NUMBER}):", picture.words).groups()
    return (digit, 28 * row + column), counts, list(map(float, means)), float(ddp), float(true)


def test_means_and_gap_are_those_of_autograd():
    for picture in corners(UnequalShares()):
        (weight, counts, means, ddp, true), images = shown(picture), eight(picture.values["images"])
        assert len(counts) == picture.values["ranks"] and counts[0] == picture.values["first"] and sum(counts) == 8
        whole = gradient(*images)[weight].item()
        each = [gradient(*piece)[weight].item() for piece in zip(*(part.split(counts) for part in images), strict=True)]
        wanted = whole if picture.values["weighted"] else sum(each) / len(each)
        assert [*means, ddp, true] == pytest.approx([*each, wanted, whole], abs=CLOSE)
        gap = abs(wanted - whole)
        assert picture.words.endswith("no gap." if gap < 1e-12 else f"a gap of {gap:.4f}.")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ranks, first", [(2, 1), (3, 4), (4, 2)])
def test_ddp_on_real_ranks_gives_what_is_drawn(ranks, first, weighted):
    weight, counts, _, drawn, true = shown(UnequalShares(ranks, first, weighted, 3))
    gradients = run_ranks(ranks, by_ddp, counts, 3, weighted)
    assert [each[weight].item() for each in gradients] == pytest.approx([drawn] * ranks, abs=CLOSE)
    same = weighted or len(set(counts)) == 1
    assert torch.allclose(gradients[0], gradient(*eight(3)), rtol=0, atol=1e-12) == same == (drawn == true)


def test_equal_shares_leave_no_gap_and_unequal_ones_do():
    for images in range(10):
        assert UnequalShares(2, 4, images=images).words.endswith("no gap.")
        assert UnequalShares(4, 2, images=images).words.endswith("no gap.")
        assert UnequalShares(2, 1, images=images).words.endswith(f"{gap_by_hand(images):.4f}.")


def gap_by_hand(images: int) -> float:
    """Return the gap with one image on rank 0 and seven on rank 1."""
    weight, *_ = shown(UnequalShares(2, 1, images=images))
    pixels, labels = eight(images)
    first, others = gradient(pixels[:1], labels[:1])[weight], gradient(pixels[1:], labels[1:])[weight]
    gap = abs((first + others) / 2 - (first + 7 * others) / 8).item()
    assert gap > 0.001
    return gap


def between_0_and_1(numbers: torch.Tensor) -> torch.Tensor:
    """Return numbers moved and scaled so that the least is 0 and the greatest 1."""
    return (numbers - numbers.min()) / (numbers.max() - numbers.min())


def test_dots_stand_where_the_gradients_are_in_the_colour_of_their_rank():
    picture = UnequalShares(3, 4, images=2)
    weight, *_ = shown(picture)
    dots = [shape for shape in shapes_of(picture) if shape.tag.endswith("circle")]
    assert [dot.get("fill") for dot in dots] == [color_of(rank)[0] for rank in (0, 0, 0, 0, 1, 1, 2, 2)]
    images, labels = eight(2)
    each = torch.stack([gradient(images[[n]], labels[[n]])[weight] for n in range(8)])
    places = torch.tensor([float(dot.get("cx")) for dot in dots], dtype=torch.float64)
    assert torch.allclose(between_0_and_1(places), between_0_and_1(each), rtol=0, atol=1e-3)
    drawn = [word.text for word in shapes_of(picture) if (word.text or "").startswith("image ")]
    assert drawn == [f"image {16 + n}: a {label}" for n, label in enumerate(labels.tolist())]
    assert each.std() > 0.2  # worth looking at


def test_the_readers_random_numbers_go_on_as_if_nothing_was_drawn():
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    UnequalShares(2, 7, images=9)
    assert torch.equal(torch.rand(3), wanted)
