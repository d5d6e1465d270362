"""Notes what is trained: the wrappers, each forward, backward and optimizer step, and fingerprints of what they hold.

Events:
`wrap`: a model is wrapped; `model` is its number. `names`, `trainable`, `shapes`, `params` (fingerprints) of its
    parameters, `ignored` (names that it leaves alone), `drawn` (those of
    them whose numbers are not all one), `buffers` (names) and `statistics` (those of them that a batch
    norm keeps), `ranks` (that share it).
`altered`: a `model` is not as when it was wrapped: `how`, for each such parameter; has it `hooks` of its own.
`forward`: a wrapper is called. `model`, `grad` (is autograd on), `training`, `sync` (its backward will reduce);
    `params` (fingerprints, where no optimizer steps with them), `buffers` (fingerprints).
`backward`: of a `loss`; `models` are the wrappers whose gradients it reduces.
`reduced`: it has done so. `model`, `grads` (fingerprints).
`optimizer`: an optimizer is made. `optimizer` is its number, `hyper` as in `step`.
`holds`: the parameters of an `optimizer`: `names` (pairs of a wrapper's number, or None, and a name), `shapes`.
`step`: an optimizer is about to step. `optimizer`; `zero`, `finite`: are all its gradients so; `none`: it has none;
    `hyper`, where it is new: learning rate and the like; `params`, `grads`, `state`: fingerprints; `exchanged`: how
    much ranks have had to do with each other so far; `closure`: it computes its gradients itself, see `stepped`.
`stepped`: it has. `params`: fingerprints. With a closure also `zero`, `finite`, `none`, `grads`.
`final`: what a `model` or an `optimizer` holds at the end: `values`, some numbers of each tensor, by name; `finite`.
Fingerprints come on some steps only: see `fingerprints.py`. Ways past a wrapper are noted in `bypass.py`.
Calls in which a rank waits for others are noted as in `collectives.py`, with DDP's own among them.
"""

import atexit
import functools

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ddp_lessons.doctor.journal import Journal
from ddp_lessons.doctor.limit import LimitReached, end_at_limit
from ddp_lessons.doctor.watch import bypass
from ddp_lessons.doctor.watch.collectives import waiting
from ddp_lessons.doctor.watch.optimizers import Steps
from ddp_lessons.doctor.watch.wrappers import Wrapped


class Training:
    """What is trained in this rank, numbered in the order in which it is first seen."""

    def __init__(self, journal: Journal, limit: int | None):
        self.journal, self.limit, self.inside = journal, limit, bypass.Inside()
        self.wrapped: list[Wrapped] = []
        self.steps = Steps(journal, self.wrapped)
        self.armed: set[int] = set()  # the wrappers whose next backward reduces

    def wrap(self, wrapper: DistributedDataParallel) -> None:
        """Note a wrapper that has just been made."""
        self.wrapped.append(Wrapped(wrapper, len(self.wrapped), self.journal))
        self.inside.add(wrapper, len(self.wrapped) - 1)
        self.wrapped[-1].note_wrap()

    def forward(self, wrapper: DistributedDataParallel) -> None:
        """Note a call of a wrapper."""
        model = next((one.model for one in self.wrapped if one.wrapper is wrapper), None)
        if model is None:  # a copy of one, which was not made by its constructor
            model = len(self.wrapped)
            self.wrap(wrapper)
        grad, sync = torch.is_grad_enabled(), wrapper.require_backward_grad_sync
        if grad and sync:
            self.armed.add(model)
        prints = self.wrapped[model].forward(stepped=model in self.steps.models) if grad else {}
        self.journal.note("forward", model=model, grad=grad, training=wrapper.training, sync=sync, **prints)

    def backward(self, loss: torch.Tensor) -> list[int]:
        """Note a backward; return the wrappers whose gradients it reduces."""
        models, self.armed = sorted(self.armed), set()
        value = loss.detach().double().sum().item() if isinstance(loss, torch.Tensor) else None
        self.journal.note("backward", loss=repr(value), models=models)
        return models

    def reduced(self, models: list[int]) -> None:
        """Note what a backward has left in the wrappers."""
        for model in models:
            self.wrapped[model].reduced()

    def final(self) -> None:
        """Note what all hold at the end."""
        for one in self.wrapped:
            one.final()
        self.steps.final()


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on."""
    training = Training(journal, limit)
    final = journal.safely(training.final)
    atexit.register(final)
    watch_optimizers(journal, training, final)
    watch_wrappers(journal, training)
    watch_backward(journal, training)
    bypass.install(journal, training.inside)


def watch_optimizers(journal: Journal, training: Training, final) -> None:
    """Have each optimizer noted, and each of its steps; the script ends at its limit."""
    steps, init = training.steps, Optimizer.__init__
    made, before, after = (journal.safely(one) for one in (steps.made, steps.before, steps.after))

    @functools.wraps(init)
    def watched_init(self, *args, **kwargs):
        init(self, *args, **kwargs)
        made(self)

    def stepped(optimizer, args, kwargs):
        after(optimizer)
        if steps.running or not training.limit or steps.count < training.limit:
            return
        if steps.count > training.limit:  # the script has caught the exception, and goes on
            end_at_limit(journal)
        final()
        raise LimitReached

    Optimizer.__init__ = watched_init
    register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: before(optimizer, args, kwargs))
    register_optimizer_step_post_hook(stepped)


def watch_backward(journal: Journal, training: Training) -> None:
    """Have each backward noted."""
    backward = torch.autograd.backward
    note, reduced = journal.safely(training.backward), journal.safely(training.reduced)

    @functools.wraps(backward)
    def watched_backward(tensors, *args, **kwargs):
        models = note(tensors) or []
        group = training.wrapped[models[0]].wrapper.process_group if models else None
        with waiting(journal, "backward" if models else None, group, models=models), training.inside.running():
            backward(tensors, *args, **kwargs)
        reduced(models)

    torch.autograd.backward = watched_backward


def watch_wrappers(journal: Journal, training: Training) -> None:
    """Have each wrapper noted, and each of its calls."""
    cls = DistributedDataParallel
    init, forward = cls.__init__, cls.forward
    wrap, called = journal.safely(training.wrap), journal.safely(training.forward)

    @functools.wraps(init)
    def watched_init(self, *args, **kwargs):
        with waiting(journal, "DistributedDataParallel", kwargs.get("process_group")):
            init(self, *args, **kwargs)
        wrap(self)

    @functools.wraps(forward)
    def watched_forward(self, *args, **kwargs):
        called(self)
        buffers = "buffers" if self.will_sync_module_buffers() else None
        with waiting(journal, buffers, self.process_group), training.inside.running():
            return forward(self, *args, **kwargs)

    cls.__init__, cls.forward = watched_init, watched_forward
