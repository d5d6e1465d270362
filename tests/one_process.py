"""The oracle of the tests on broken ways: gradients that one process gets, written out without the course's parts."""

from functools import cache
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.workbench.proof import small_cnn

DATA = str(Path(__file__).parents[1] / "data")
TOLERANCE = 1e-12


@cache
def sixty_four():
    """The first 64 images of MNIST in float64, and their labels."""
    images, labels = load_mnist(DATA, train=True, samples=64).tensors
    return images.double(), labels


@cache
def one_gradient(start=0, stop=64, step=1, norm="GroupNorm", reduction="mean"):
    """The gradient of one process from those of the 64 images, as a vector."""
    torch.manual_seed(0)
    model = small_cnn(norm).double()
    images, labels = (tensor[start:stop:step] for tensor in sixty_four())
    cross_entropy(model(images), labels, reduction=reduction).backward()
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])


def apart(gradient, right):
    """How far a gradient is from the right one, relative to its length."""
    return ((gradient - right).norm() / right.norm()).item()
