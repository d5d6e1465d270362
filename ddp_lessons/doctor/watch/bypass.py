"""Notes ways past a wrapper: each is sound in its place, and says why, should ranks differ.

Events, `model` being a wrapper's number:
`raw`: a wrapped module, or a part of it, is called with autograd on, not through its wrapper.
`no_sync`: the wrapper's context of that name is entered.
`restored`: weights are loaded into a wrapper or the module in it.
`grad`: gradients are asked for by `torch.autograd.grad`.
"""

import contextlib
import functools
import os
import sys

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ddp_lessons.doctor.journal import Journal, is_readers


class Inside:
    """Which modules belong to which wrapper, and whether one of these, or a backward, runs now."""

    def __init__(self):
        self.models: dict[int, int] = {}  # a module's id: its wrapper's number
        self.depth = 0

    def add(self, wrapper: DistributedDataParallel, model: int) -> None:
        """Get to know a wrapper."""
        self.models |= {id(module): model for module in wrapper.modules()}

    @contextlib.contextmanager
    def running(self):
        """Take what is called now for the wrapper's own doing."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


def install(journal: Journal, inside: Inside) -> None:
    """Lay the instrument on."""
    watch_calls(journal, inside)
    watch_contexts(journal, inside)
    load, grad = nn.Module.load_state_dict, torch.autograd.grad
    note = journal.safely(journal.note)

    @functools.wraps(load)
    def watched_load(self, *args, **kwargs):
        if id(self) in inside.models:
            note("restored", model=inside.models[id(self)])
        return load(self, *args, **kwargs)

    @functools.wraps(grad)
    def watched_grad(*args, **kwargs):
        if inside.models:
            note("grad")
        with inside.running():
            return grad(*args, **kwargs)

    nn.Module.load_state_dict, torch.autograd.grad = watched_load, watched_grad


def watch_calls(journal: Journal, inside: Inside) -> None:
    """Have calls past the wrapper noted, at the line that called into the module."""
    call, note = nn.Module.__call__, journal.safely(journal.note)

    @functools.wraps(call)
    def watched_call(self, *args, **kwargs):
        if inside.depth or id(self) not in inside.models or isinstance(self, DistributedDataParallel):
            return call(self, *args, **kwargs)
        if torch.is_grad_enabled():
            note("raw", model=inside.models[id(self)], place=outside(inside))
        with inside.running():
            return call(self, *args, **kwargs)

    nn.Module.__call__ = watched_call


def outside(inside: Inside) -> list | None:
    """Return the reader's innermost line that is now running and is not in a method of a wrapped module."""
    frame = sys._getframe(2)
    while frame and not (is_readers(frame.f_code.co_filename) and id(frame.f_locals.get("self")) not in inside.models):
        frame = frame.f_back
    return [os.path.abspath(frame.f_code.co_filename), frame.f_lineno] if frame else None


def watch_contexts(journal: Journal, inside: Inside) -> None:
    """Have `no_sync` noted, where it is entered."""
    no_sync, note = DistributedDataParallel.no_sync, journal.safely(journal.note)

    @functools.wraps(no_sync)
    def watched_no_sync(self):
        if id(self) in inside.models:
            note("no_sync", model=inside.models[id(self)])
        return no_sync(self)

    DistributedDataParallel.no_sync = watched_no_sync
