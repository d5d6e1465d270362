"""States of a training that tests write as checkpoints, and what a script does that is to go on from one."""

from argparse import Namespace

import torch

from ddp_lessons.blocks.model import build_model
from ddp_lessons.blocks.random_states import random_states
from ddp_lessons.lesson6_score_and_resume import find_state

RUN = {"model": "linear", "epochs": 2, "batch_size": 32, "lr": 0.01, "samples": None, "seed": 0, "dropout": 0.1}


def state(step: int = 1, epoch: int = 0, weights=None, **changes) -> dict:
    """What a run on two ranks writes, with changes."""
    weights = build_model("linear").state_dict() if weights is None else weights
    place = {"epoch": epoch, "start": 64}
    whole = {"version": 1, "run": {**RUN, "global_batch": 64}, "step": step, "sampler": place, "model": weights}
    return {**whole, "optimizer": {}, "scheduler": {}, "random": [random_states(torch.device("cpu"))] * 2, **changes}


def find(folder, world_size: int = 2, resume: str | None = "auto", **run):
    """What a script does that is to go on in `folder`: once a folder, since it keeps the lock."""
    args = Namespace(checkpoints=str(folder), resume=resume)
    return find_state(args, {**RUN, **run}, build_model("linear"), world_size)
