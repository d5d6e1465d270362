"""The score of a model."""

import torch
from torch import nn


@torch.no_grad()
def evaluate(model, loader, device) -> tuple[float, float]:
    """Return the mean loss over the loader's samples, and the share classified right."""
    model.eval()
    loss, correct = 0.0, 0
    for images, labels in loader:
        logits = model(images.to(device)).cpu()
        loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        correct += (logits.argmax(dim=1) == labels).sum().item()
    return loss / len(loader.dataset), correct / len(loader.dataset)
