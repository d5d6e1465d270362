"""Where the random number generators stand."""

import random

import numpy
import torch


def seed_all(seed: int) -> None:
    """Begin every random number generator of this rank at `seed`; torch.manual_seed begins only torch's own."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def random_states(device) -> list:
    """Return where every random number generator of this rank stands: Python's, numpy's, torch's, its card's."""
    name, keys, *rest = numpy.random.get_state()
    card = None if device.type == "cpu" else torch.get_device_module(device).get_rng_state()
    return [random.getstate(), (name, keys.tolist(), *rest), torch.get_rng_state(), card]


def set_random_states(states: list, device) -> None:
    """Put every random number generator of this rank where it stood."""
    random.setstate(states[0])
    numpy.random.set_state(states[1])
    torch.set_rng_state(states[2])
    if states[3] is not None and device.type != "cpu":
        torch.get_device_module(device).set_rng_state(states[3])
