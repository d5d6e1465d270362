"""The two networks of the course."""

from collections import OrderedDict

from torch import nn


def build_model(name: str) -> nn.Module:
    """Return a new `linear` (7,850 weights) or `cnn` (421,642): images (B, 1, 28, 28) in, logits (B, 10) out."""
    if name == "linear":
        return nn.Sequential(OrderedDict(flatten=nn.Flatten(), fc=nn.Linear(28 * 28, 10)))
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )
