"""What the doctor puts in place of torch's and Python's functions looks from outside like what was there.

Libraries rebuild objects from the signatures that they read: Lightning and Fabric make a DataLoader anew so.
"""

import contextlib
import inspect
import os
import sys
from pathlib import Path

import torch
from ranks import run_all, torchrun_environment
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, Sampler, Subset

from ddp_lessons.doctor.journal import Journal
from ddp_lessons.doctor.watch import INSTRUMENTS


class Own(Sampler):
    """A reader's sampler, with a constructor of its own."""

    def __init__(self, data, share: float = 0.5):
        self.size = int(len(data) * share)


class Plain(Sampler):
    """A reader's sampler, without one."""

    def __iter__(self):
        return iter(())


CLASSES = [DataLoader, Sampler, DistributedSampler, RandomSampler, BatchSampler, Subset, Own, Plain]
CLASSES += [torch.nn.parallel.DistributedDataParallel, torch.optim.Optimizer, torch.optim.SGD]


def functions() -> dict[str, object]:
    """Return every function and method that a loaded module has, but the doctor's own, by the name it is found by."""
    found, classes = {}, set()
    for name, module in list(sys.modules.items()):
        if module is None or name.startswith(("ddp_lessons", "test_", "__main__")):
            continue
        for key, value in list(getattr(module, "__dict__", {}).items()):
            if callable(value):
                found[f"{name}.{key}"] = value
            if issubclass(type(value), type) and value not in classes:
                classes.add(value)
                name_of = f"{value.__module__}.{value.__qualname__}"
                found |= {f"{name_of}.{inner}": one for inner, one in list(vars(value).items()) if callable(one)}
    return found


def face(function: object) -> tuple:
    """Return what can be seen of a function from outside."""
    with contextlib.suppress(TypeError, ValueError):  # some of torch's, in C++, have none
        signature = str(inspect.signature(function))
        return function.__name__, function.__qualname__, function.__module__, function.__doc__, signature
    return function.__name__, function.__qualname__, function.__doc__


def laid_on(folder: Path) -> tuple[list[str], list[tuple]]:
    """Lay the instruments on in this process; return what they replaced, and whatever then looks otherwise."""
    os.environ.update(torchrun_environment(0, 1, 29500))
    before, classes = functions(), [inspect.signature(cls) for cls in CLASSES]
    journal = Journal(folder, 0)
    for instrument in INSTRUMENTS:
        instrument.install(journal, None)
    now = functions()
    replaced = [name for name in before if now[name] is not before[name]]
    changed = [(name, str(face(before[name])), str(face(now[name]))) for name in replaced]
    changed += [(str(cls), str(old), str(inspect.signature(cls))) for cls, old in zip(CLASSES, classes, strict=True)]
    return replaced, [(name, old, new) for name, old, new in changed if old != new]


def test_all_that_is_replaced_keeps_name_signature_and_docstring(tmp_path):
    [(replaced, changed)] = run_all([(laid_on, tmp_path)])
    some = {"torch.save", "torch.distributed.all_reduce", "torch.utils.data.dataloader.DataLoader.__init__"}
    assert some <= set(replaced)
    assert changed == []
