"""A run that is resumed with a part of its state left out, and how far it ends from the run that never stopped."""

import io
import itertools
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.random_states import seed_all
from ddp_lessons.lesson6_score_and_resume import Training
from ddp_lessons.workbench.proof import small_cnn

HALF = 6  # steps before the stop, and as many after: an epoch has 4


def nothing(training: Training, state: dict) -> None:
    """Leave nothing out."""
    training.load_state_dict(state)


def momentum(training: Training, state: dict) -> None:
    """Begin with a new optimizer."""
    training.load_state_dict({**state, "optimizer": training.optimizer.state_dict()})


def schedule(training: Training, state: dict) -> None:
    """Begin the schedule of the learning rate anew."""
    training.load_state_dict({**state, "scheduler": training.scheduler.state_dict()})


def random_numbers(training: Training, state: dict) -> None:
    """Draw other random numbers."""
    training.load_state_dict({**state, "random": []})


def place_in_the_epoch(training: Training, state: dict) -> None:
    """Begin the epoch anew: some samples are seen twice."""
    training.load_state_dict({**state, "sampler": {**state["sampler"], "start": 0}})


def epoch(training: Training, state: dict) -> None:
    """Go on in the order of the first epoch, as who forgets `set_epoch`."""
    training.load_state_dict({**state, "sampler": {**state["sampler"], "epoch": 0}})


def throwaway_backward(training: Training, state: dict) -> None:
    """Let the first real backward be DDP's first."""
    training.backward = lambda *_: None
    training.load_state_dict(state)
    del training.backward


def begin(folder: str) -> Training:
    """Return a training of this rank at its first step, the same at each call."""
    run = {"seed": 0, "global_batch": 64, "batch_size": 64, "lr": 0.05, "epochs": 4, "dropout": 0.1}
    seed_all(0)
    samples = load_mnist(folder, train=True, samples=256)
    return Training(small_cnn("GroupNorm"), samples, run, torch.device("cpu"), dist.get_rank(), dist.get_world_size())


def steps(training: Training) -> Tensor:
    """Take so many steps, into the next epoch if need be; return the weights as one vector, a copy."""
    left = HALF
    while left:
        for _ in itertools.islice(training.rest_of_epoch(), left):
            left -= 1
        if left:
            training.sampler.set_epoch(training.sampler.epoch + 1)
    return torch.cat([weight.detach().flatten() for weight in training.model.parameters()])


def apart(resume: Callable, folder: str = "../data") -> float:
    """Return the largest difference of a weight between the resumed run and the one that never stopped."""
    training = begin(folder)
    steps(training)
    file = io.BytesIO()
    torch.save(training.state_dict(), file)
    unstopped = steps(training)
    file.seek(0)
    resumed = begin(folder)
    resume(resumed, torch.load(file, weights_only=True))
    return (steps(resumed) - unstopped).abs().max().item()


def measure(folder: str = "../data") -> dict[str, float]:
    """Return how far each way of resuming ends from the run that never stopped. All ranks call it."""
    ways = (nothing, momentum, schedule, random_numbers, place_in_the_epoch, epoch, throwaway_backward)
    return {way.__name__: apart(way, folder) for way in ways}
