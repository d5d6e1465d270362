"""Weights on disk, and checkpoints: all that a training needs to go on."""

import contextlib
import glob
import hashlib
import io
import os
import pickle
import tempfile

import torch
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present


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
        model.load_state_dict(bare_weights(torch.load(path, map_location="cpu", weights_only=True)))
    except pickle.UnpicklingError:
        raise SystemExit(f"{path} was not loaded: it holds more than weights, which could be code") from None
    except (EOFError, OSError, RuntimeError, TypeError) as error:
        raise SystemExit(f"{path} does not hold the weights of this model: {error}") from None


def checkpoints(folder: str) -> list[str]:
    """Return the paths of the checkpoints in `folder`, the oldest first."""
    return sorted(glob.glob(f"{glob.escape(folder)}/epochs-????-steps-?????????-{'?' * 16}.pth"))


def checksum(content: bytes) -> str:
    """Return 16 digits that another content would not have, as in the file names of torch.hub."""
    return hashlib.sha256(content).hexdigest()[:16]


def write_checkpoint(state: dict, folder: str, keep: int) -> str:
    """Write `state` to a new file, whole or not at all, even if the machine goes down; delete all but the last `keep`.

    Returns its path, which tells the epochs and steps that are done, and a checksum of the content.
    """
    buffer = io.BytesIO()
    torch.save(state, buffer)
    done = f"epochs-{state['sampler']['epoch']:04d}-steps-{state['step']:09d}"
    path = f"{folder}/{done}-{checksum(buffer.getbuffer())}.pth"
    try:
        with open(f"{folder}/partial", "wb") as file:
            file.write(buffer.getbuffer())
            file.flush()
            os.fsync(file.fileno())  # the content is on the disk before its name is
        os.replace(f"{folder}/partial", path)
        entry = os.open(folder, os.O_RDONLY)
        os.fsync(entry), os.close(entry)  # and the name, before an older file goes
        for old in checkpoints(folder)[:-keep]:
            os.remove(old)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.remove(f"{folder}/partial")
        raise SystemExit(f"no checkpoint of step {state['step']} in {folder}, older ones are kept: {error}") from None
    return path


def newest_checkpoint(folder: str) -> tuple[str | None, bytes]:
    """Return the path and content of the last whole checkpoint in `folder`, if any; set the damaged aside."""
    try:
        for path in reversed(checkpoints(folder)):
            with open(path, "rb") as file:
                content = file.read()
            if f"-{checksum(content)}." in path:
                return path, content
            os.replace(path, f"{path}.damaged")
            print(f"{path} is not what was written ({len(content)} bytes): set aside, the one before is tried")
    except OSError as error:
        raise SystemExit(f"a checkpoint in {folder} cannot be read: {error}") from None
    return None, b""


def read_state(content: bytes) -> dict:
    """Return the state in a checkpoint's content, on the CPU. Raise ValueError if it may be code, or is none."""
    try:
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ValueError("holds more than tensors and numbers, which could be code: none of it was run") from None
    except Exception:  # noqa: BLE001 (what is no file of torch's ends torch.load in any way)
        state = None
    if not isinstance(state, dict) or type(state.get("version")) is not int:
        raise ValueError("is no checkpoint of a training")
    if state["version"] > 1:
        raise ValueError(f"is of version {state['version']}, and this program reads version 1: use a newer one")
    return state


def bare_weights(weights: dict) -> dict:
    """Return weights under the names of the bare model: without what DDP (`module.`) and compile put before them."""
    weights = dict(weights)
    for prefix in ("_orig_mod.", "module.", "_orig_mod."):  # compiled and wrapped in either order
        if all(name.startswith(prefix) for name in weights):  # else it is a part of the model that is named so
            consume_prefix_in_state_dict_if_present(weights, prefix)
    return weights
