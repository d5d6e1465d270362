"""The two networks of the course."""

from torch import nn


class SimpleNN(nn.Module):
    """One linear layer: images (B, 1, 28, 28) in, logits (B, 10) out."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(28 * 28, 10)

    def forward(self, images):
        return self.fc(images.flatten(1))


def build_model(name: str) -> nn.Module:
    """Return a new `linear` (7,850 weights) or `cnn` (421,642), for images and logits as above."""
    if name == "linear":
        return SimpleNN()
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )
