"""Weights on disk."""

import os

import torch


def save_model(model, path: str) -> None:
    """Write the weights of `model` to `path`, whole or not at all, whenever we may be killed."""
    torch.save(model.state_dict(), f"{path}.partial")
    os.replace(f"{path}.partial", path)
