"""Weights on disk."""

import os

import torch
from torch import nn


def save_model(model: nn.Module, path: str) -> None:
    """Write the weights of `model` to `path`: the file is whole or not there, whenever we are killed."""
    torch.save(model.state_dict(), f"{path}.partial")
    os.replace(f"{path}.partial", path)
