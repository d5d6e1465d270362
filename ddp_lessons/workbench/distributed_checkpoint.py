"""A checkpoint by the library: every rank writes a part, and any number of ranks reads what it needs."""

import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


def save_distributed(model, optimizer, folder: str) -> None:
    """Write model and optimizer to `folder`, which shall be new: all ranks call it, with DDP's model or the bare one.

    The names in it are the bare model's. An older checkpoint in `folder` would be written over, part by part.
    """
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=folder)


def load_distributed(model, optimizer, folder: str) -> None:
    """Put what `folder` holds into model and optimizer: all ranks call it, as many as have saved it or others.

    Only from a folder that you trust: what tells where each tensor lies is a pickle, and to read that can run code.
    """
    weights, moments = get_state_dict(model, optimizer)  # the room that the tensors are read into
    state = {"model": weights, "optimizer": moments}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
