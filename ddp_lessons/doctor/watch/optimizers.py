"""What is noted of optimizers and their steps. See `training.py`."""

import math

import torch.distributed as dist
from torch.optim import Optimizer

from ddp_lessons.doctor.journal import Journal
from ddp_lessons.doctor.watch.fingerprints import (
    due,
    fingerprint,
    hyper,
    is_finite,
    is_plain,
    named,
    of_gradients_and,
    of_state,
    parameters_of,
    size_of,
    some_values,
)
from ddp_lessons.doctor.watch.wrappers import Wrapped


class Steps:
    """The optimizers, in the order in which they are first seen, and what each of their steps is noted with."""

    def __init__(self, journal: Journal, wrapped: list[Wrapped]):
        self.journal, self.wrapped = journal, wrapped
        self.optimizers: list[Optimizer] = []
        self.count, self.counts = 0, []  # steps of all, and of each
        self.told: list[dict] = []  # what is known of each: noted again only where it is new
        self.running: list[Optimizer] = []  # a step within a step is the outer optimizer's own affair
        self.models: set[int] = set()  # the wrappers with whose parameters one of them steps

    def number(self, optimizer: Optimizer) -> int:
        """Return an optimizer's number."""
        for place, other in enumerate(self.optimizers):
            if other is optimizer:
                return place
        self.optimizers.append(optimizer)
        self.counts.append(0)
        self.told.append({})
        return len(self.optimizers) - 1

    def made(self, optimizer: Optimizer) -> None:
        """Note an optimizer that has just been made."""
        if not self.running:
            number, kind = self.number(optimizer), type(optimizer).__name__
            self.journal.note("optimizer", optimizer=number, kind=kind, hyper=hyper(optimizer))

    def before(self, optimizer: Optimizer, args: tuple, kwargs: dict) -> None:
        """Note a step that is about to be taken."""
        if any(one is optimizer for one in self.running):
            self.running.clear()  # its last step has failed
        self.running.append(optimizer)
        if len(self.running) > 1:
            return
        number, parameters = self.number(optimizer), parameters_of(optimizer)
        self.holds(number, parameters)
        due, closure = self.due(number), bool(args[1:] or kwargs.get("closure"))
        about = {"zero": False, "finite": True, "none": False, "closure": True} if closure else of_all(parameters, due)
        if due:
            about |= {"params": [fingerprint(one) for one in parameters], "state": of_state(optimizer)}
        if self.told[number].get("hyper") != (numbers := hyper(optimizer)):
            self.told[number]["hyper"] = about["hyper"] = numbers
        self.told[number]["closure"] = closure
        self.journal.note("step", optimizer=number, exchanged=exchanged(), **about)

    def after(self, optimizer: Optimizer) -> None:
        """Note a step that has been taken, on steps that are looked at."""
        while self.running and self.running.pop() is not optimizer:
            pass
        if self.running:
            return
        number, parameters = self.number(optimizer), parameters_of(optimizer)
        about = of_all(parameters, self.due(number)) if self.told[number].get("closure") else {}
        if self.due(number):
            about["params"] = [fingerprint(one) for one in parameters]
        if about:
            self.journal.note("stepped", optimizer=number, **about)
        self.counts[number] += 1
        self.count += 1

    def due(self, number: int) -> bool:
        """Tell whether an optimizer's step is looked at."""
        return due(self.counts[number], self.told[number]["size"])

    def holds(self, number: int, parameters: list) -> None:
        """Note which parameters an optimizer has, where that is new."""
        key = len(self.wrapped), *map(id, parameters)
        if self.told[number].get("key") == key:
            return
        self.told[number] |= {"key": key, "size": size_of(parameters)}
        ours = {id(one): [w.model, name] for w in self.wrapped for name, one in w.parameters().items()}
        others = [one for one in parameters if id(one) not in ours]
        ours |= {id(one): [None, name] for one, name in zip(others, named(others) if others else [], strict=True)}
        names = [ours[id(one)] for one in parameters]
        self.models |= {model for model, _ in names if model is not None}
        shapes = [list(one.shape) for one in parameters]
        self.told[number]["names"] = names
        self.journal.note("holds", optimizer=number, names=names, shapes=shapes)

    def final(self) -> None:
        """Note what the optimizers hold at the end that belongs to no wrapper."""
        for number, optimizer in enumerate(self.optimizers):
            names, parameters = self.told[number].get("names", []), parameters_of(optimizer)
            ours = {name: one for (model, name), one in zip(names, parameters, strict=False) if model is None}
            finite = all(is_finite(one) for one in parameters if is_plain(one))
            values = {name: some_values(one) for name, one in ours.items()}
            self.journal.note("final", optimizer=number, values=values, finite=finite, place=None)


def of_all(parameters: list, due: bool) -> dict:
    """Tell of gradients whether all are zero, all finite, there is none; and their fingerprints, if they are due."""
    prints, about = of_gradients_and(parameters, due)
    return about | ({"grads": prints} if due else {})


def exchanged() -> int | None:
    """Return how many collectives all groups of this rank have seen, C++'s own among them; None where unknown."""
    if not dist.is_available() or not dist.is_initialized():
        return None
    try:
        groups = list(dist.distributed_c10d._world.pg_map)
        count = sum(group._get_sequence_number_for_group() for group in groups)
    except Exception:  # noqa: BLE001 (nobody has promised these)
        return None
    return count if math.isfinite(count) else None
