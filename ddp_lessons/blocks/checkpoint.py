"""Weights on disk."""

import os
import pickle
import tempfile

import torch


def save_model(model, path: str) -> None:
    """Write the weights of `model` to `path`, whole or not at all, whenever we may be killed."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=os.path.dirname(path) or ".") as folder:
            with open(f"{folder}/weights", "wb", buffering=0) as file:
                torch.save(model.state_dict(), file)
            os.replace(f"{folder}/weights", path)
    except (OSError, RuntimeError) as error:
        raise SystemExit(f"{path} was not saved, and is as it was: {error.__context__ or error}") from None


def load_model(model, path: str) -> None:
    """Put the weights in the file `path` into `model`. Whatever else the file holds is not run."""
    try:
        model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except pickle.UnpicklingError:
        raise SystemExit(f"{path} was not loaded: it holds more than weights, which could be code") from None
    except (EOFError, OSError, RuntimeError, TypeError) as error:
        raise SystemExit(f"{path} does not hold the weights of this model: {error}") from None
