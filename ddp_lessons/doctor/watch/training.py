"""Notes what is trained: the wrappers, each forward, backward and optimizer step, and fingerprints of what they hold.

Events:
`wrap`: a model is wrapped; `model` is its number.
`forward`: a wrapper is called. `model`, `grad` (is autograd on), `training`, `sync` (its backward will reduce).
`backward`: of a `loss`; `models` are the wrappers whose gradients it reduces.
`step`: an optimizer is about to step. `optimizer` is its number; `zero`, `finite`: are all its gradients so.
Calls in which a rank waits for others are noted as in `collectives.py`, with DDP's own among them.
"""

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ddp_lessons.doctor.journal import Journal
from ddp_lessons.doctor.watch.collectives import waiting


class LimitReached(BaseException):
    """The script has taken as many steps as it was to."""


class Training:
    """What is trained in this rank, numbered in the order in which it is first seen."""

    def __init__(self, journal: Journal, limit: int | None):
        self.journal, self.limit, self.steps = journal, limit, 0
        self.wrappers: list[DistributedDataParallel] = []
        self.optimizers: list[torch.optim.Optimizer] = []
        self.armed: set[int] = set()  # the wrappers whose next backward reduces

    def wrapped(self, wrapper: DistributedDataParallel) -> None:
        """Note a wrapper that has just been made."""
        self.wrappers.append(wrapper)
        self.journal.note("wrap", model=len(self.wrappers) - 1)

    def forward(self, wrapper: DistributedDataParallel) -> None:
        """Note a call of a wrapper."""
        model = number(self.wrappers, wrapper)
        grad, sync = torch.is_grad_enabled(), wrapper.require_backward_grad_sync
        if grad and sync:
            self.armed.add(model)
        self.journal.note("forward", model=model, grad=grad, training=wrapper.training, sync=sync)

    def backward(self, loss: torch.Tensor) -> list[int]:
        """Note a backward; return the wrappers whose gradients it reduces."""
        models, self.armed = sorted(self.armed), set()
        value = loss.detach().double().sum().item() if isinstance(loss, torch.Tensor) else None
        self.journal.note("backward", loss=repr(value), models=models)
        return models

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Note a step that is about to be taken."""
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        self.journal.note(
            "step",
            optimizer=number(self.optimizers, optimizer),
            zero=not any(bool(gradient.any()) for gradient in gradients),
            finite=all(bool(gradient.isfinite().all()) for gradient in gradients),
        )

    def stepped(self, *_) -> None:
        """End the script at its limit."""
        self.steps += 1
        if self.steps == self.limit:
            raise LimitReached


def number(seen: list, thing: object) -> int:
    """Return a thing's place in a list of those seen so far, to which it is added."""
    for place, other in enumerate(seen):
        if other is thing:
            return place
    seen.append(thing)
    return len(seen) - 1


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on."""
    training = Training(journal, limit)
    register_optimizer_step_pre_hook(journal.safely(lambda optimizer, *_: training.step(optimizer)))
    register_optimizer_step_post_hook(training.stepped)
    watch_wrapper(journal, training)
    backward, note = torch.autograd.backward, journal.safely(training.backward)

    def watched_backward(tensors, *args, **kwargs):
        models = note(tensors)
        group = training.wrappers[models[0]].process_group if models else None
        with waiting(journal, "backward" if models else None, group, models=models):
            return backward(tensors, *args, **kwargs)

    torch.autograd.backward = watched_backward


def watch_wrapper(journal: Journal, training: Training) -> None:
    """Have each wrapper noted, and each of its calls."""
    cls = DistributedDataParallel
    init, forward = cls.__init__, cls.forward
    wrapped, called = journal.safely(training.wrapped), journal.safely(training.forward)

    def watched_init(self, *args, **kwargs):
        with waiting(journal, "DistributedDataParallel", kwargs.get("process_group")):
            init(self, *args, **kwargs)
        wrapped(self)

    def watched_forward(self, *args, **kwargs):
        called(self)
        with waiting(journal, "buffers" if self.will_sync_module_buffers() else None, self.process_group):
            return forward(self, *args, **kwargs)

    cls.__init__, cls.forward = watched_init, watched_forward
