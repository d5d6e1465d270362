"""Notes what of a model a rank saves and loads.

Events:
`save`: `torch.save` of a wrapper's weights, to `path` if there is one; `key` is the first name, or None for the
wrapper itself; `resume`: an optimizer's state is beside them.
`load`: `torch.load`, from `path` if there is one; `safe`: it can run no code, or is no affair of the script's own;
`keys`: the first names of the weights in it.
`weights`: weights were put into a model: `given` is how many there are, `taken` how many of its own got one;
`given_key` and `own_key` are the first names; `model` is the type's name, `wrapper`: it is a wrapper.
"""

import functools
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping

import torch
from torch.nn.parallel import DataParallel, DistributedDataParallel

from ddp_lessons.doctor.journal import Journal, is_readers

PREFIX = "module."
KEYS = 100  # names noted
wrappers: "weakref.WeakSet[torch.nn.Module]" = weakref.WeakSet()


def weights_in(thing: object, depth: int = 3) -> Iterator[list[str]]:
    """Yield the names of each set of weights in what is saved: mappings of names to tensors."""
    if isinstance(thing, Mapping) and depth:
        if any(isinstance(value, torch.Tensor) for value in thing.values()):
            yield [name for name in thing if isinstance(name, str)]
        else:
            for value in thing.values():
                yield from weights_in(value, depth - 1)


def of_a_wrapper(names: list[str]) -> bool:
    """Tell whether names are those of a wrapper that is alive, not of a bare model with a part named "module"."""
    if not names or not all(name.startswith(PREFIX) for name in names):
        return False
    firsts = [next(iter(wrapper.named_parameters()), ("", None))[0] for wrapper in list(wrappers)]
    return any(first in names for first in firsts)


def own_names(model: torch.nn.Module) -> list[str]:
    """Return the names of a model's parameters and buffers."""
    return [name for named in (model.named_parameters, model.named_buffers) for name, _ in named()]


class Weights:
    """Notes what is saved and loaded."""

    def __init__(self, journal: Journal):
        self.journal = journal

    def saved(self, thing: object, path: str | None) -> None:
        """Note that a wrapper's weights, or the wrapper, are to be saved."""
        if isinstance(thing, DistributedDataParallel | DataParallel):
            self.journal.note("save", path=path, key=None, resume=False)
        for names in weights_in(thing):
            if of_a_wrapper(names):
                beside = thing.values() if isinstance(thing, dict) else ()
                resume = any(isinstance(one, dict) and "param_groups" in one for one in beside)
                return self.journal.note("save", path=path, key=names[0], resume=resume)

    def loaded(self, thing: object, path: str | None, safe: bool) -> None:
        """Note what was loaded."""
        names = next(weights_in(thing), [])
        self.journal.note("load", path=path, safe=safe, keys=names[:KEYS])

    def put(self, model: torch.nn.Module, given: object, outcome: object) -> None:
        """Note what was put into a model; `outcome` is what `load_state_dict` returned, None if it failed."""
        own, names = own_names(model), [name for name in given if isinstance(name, str)]
        left_out = getattr(outcome, "missing_keys", set(own) - set(names))
        about = {"given": len(names), "own": len(own), "taken": len(set(own) - set(left_out))}
        firsts = {"given_key": names[0], "own_key": own[0]} if names and own else {}
        about |= firsts | {"wrapper": model in wrappers, "failed": outcome is None}
        self.journal.note("weights", model=type(model).__name__, **about)


def path_of(file: object) -> str | None:
    """Return the path of what is saved to or loaded from, if it has one."""
    file = file if isinstance(file, str | os.PathLike) else getattr(file, "name", None)
    return os.path.realpath(os.fspath(file)) if isinstance(file, str | os.PathLike) else None


def watch_saving(note: Callable, touch: Callable) -> None:
    """Have `torch.save` and `torch.jit.save` noted: their writer opens files unseen."""
    save, jit_save = torch.save, torch.jit.save

    @functools.wraps(save)
    def watched_save(obj, f, *args, **kwargs):
        touch("write", f)
        note(obj, path_of(f))
        return save(obj, f, *args, **kwargs)

    @functools.wraps(jit_save)
    def watched_jit_save(m, f, *args, **kwargs):
        touch("write", f)
        return jit_save(m, f, *args, **kwargs)

    torch.save = torch.serialization.save = watched_save
    torch.jit.save = watched_jit_save


def watch_loading(note: Callable) -> None:
    """Have `torch.load` noted."""
    load, default = torch.load, getattr(torch.serialization, "_default_to_weights_only", lambda module: module is None)

    @functools.wraps(load)
    def watched_load(f, map_location=None, pickle_module=None, *, weights_only=None, **kwargs):
        safe = default(pickle_module) if weights_only is None else weights_only
        readers = is_readers(sys._getframe(1).f_code.co_filename)
        thing = load(f, map_location, pickle_module, weights_only=weights_only, **kwargs)
        note(thing, path_of(f), bool(safe) or not readers)
        return thing

    torch.load = torch.serialization.load = watched_load


def install(journal: Journal, touch: Callable) -> None:
    """Lay the instrument on; `touch(did, path)` notes that a file is touched."""
    weights = Weights(journal)
    watch_saving(journal.safely(weights.saved), touch)
    watch_loading(journal.safely(weights.loaded))
    put, load_state_dict = journal.safely(weights.put), torch.nn.Module.load_state_dict

    @functools.wraps(load_state_dict)
    def watched(self, state_dict, *args, **kwargs):
        outcome = None
        try:
            outcome = load_state_dict(self, state_dict, *args, **kwargs)
        finally:
            put(self, state_dict, outcome)
        return outcome

    torch.nn.Module.load_state_dict = watched
    for cls in (DistributedDataParallel, DataParallel):
        cls.__init__ = remembered(cls.__init__)


def remembered(init: Callable) -> Callable:
    """Return a wrapper's `__init__`, after which the wrapper is known."""

    @functools.wraps(init)
    def watched(self, *args, **kwargs):
        init(self, *args, **kwargs)
        wrappers.add(self)

    return watched
