"""Keys of samples: a number for each row of a tensor, the same for the same bits. And those of what a model is given.

Event `rows`: a model is called in training with a batch that no loader has just handed out. `keys` of its largest
tensor; `model` is the wrapper's number in the order of first calls, or "bare" without one. `cut`: a loader has, but
the model gets another number of rows.
Event `group`: a wrapper is called for the first time that averages over a part of the ranks only: `ranks`.
"""

import functools
import random
import weakref

import torch
import torch.distributed as dist
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_post_hook

from ddp_lessons.doctor.journal import Journal
from ddp_lessons.doctor.watch import data

WIDTH, MOST_LEAVES, MOST_NOTED = 512, 4, 5000  # numbers of a row that are looked at; tensors of a batch; calls
INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@functools.cache
def factors() -> torch.Tensor:
    """Return large odd numbers, the same on every rank, without touching the script's generators."""
    own = random.Random(2)
    return torch.tensor([own.getrandbits(62) * 2 + 1 for _ in range(WIDTH)], dtype=torch.int64, device="cpu")


@torch.no_grad()
def row_keys(tensor: torch.Tensor) -> list[int]:
    """Return a number of 32 bits for each row of a tensor, exact whatever the batch: it is made of integers."""
    flat = tensor.detach().cpu().reshape(len(tensor), -1)
    flat = flat[:, :: -(-flat.shape[1] // WIDTH)].contiguous()
    whole = flat.view(INTEGERS[flat.element_size()]).to(torch.int64)
    sums = (whole * factors()[: whole.shape[1]]).sum(dim=1)
    return [(key >> 24) & 0xFFFFFFFF for key in sums.tolist()]


def leaves(value: object, depth: int = 3) -> list[torch.Tensor]:
    """Return the tensors in a batch, in any nest of lists and dicts."""
    if isinstance(value, torch.Tensor):
        usable = value.dim() and value.numel() and value.layout == torch.strided
        return [value] if usable and value.element_size() in INTEGERS else []
    if not depth or isinstance(value, (str, bytes)):
        return []
    inner = value.values() if hasattr(value, "values") else value if isinstance(value, (list, tuple)) else ()
    return [leaf for one in list(inner)[: 2 * MOST_LEAVES] for leaf in leaves(one, depth - 1)]


def keys_of(tensors: list[torch.Tensor]) -> list[list[int]]:
    """Return the keys of some tensors' rows, the largest tensor first, those with as many rows as it."""
    if not tensors:
        return []
    largest = max(tensors, key=torch.Tensor.numel)
    others = [one for one in tensors if one is not largest and len(one) == len(largest)]
    return [row_keys(one) for one in [largest, *others][:MOST_LEAVES]]


class Calls:
    """The models that are called in training."""

    def __init__(self, journal: Journal):
        self.journal, self.models, self.stepped, self.noted = journal, weakref.WeakKeyDictionary(), True, 0

    def wrapper(self, wrapper: DistributedDataParallel, args: tuple, kwargs: dict) -> None:
        """Note what a wrapper is called with."""
        if wrapper not in self.models and dist.get_world_size(wrapper.process_group) < dist.get_world_size():
            self.journal.note("group", ranks=dist.get_process_group_ranks(wrapper.process_group))
        model = self.models.setdefault(wrapper, len(self.models))
        if torch.is_grad_enabled():
            self.note(model, args, kwargs)

    def bare(self, module: torch.nn.Module, args: tuple) -> None:
        """Note what a model is called with that is not wrapped: the first module called since the last step."""
        if self.stepped and torch.is_grad_enabled() and any(p.requires_grad for p in module.parameters()):
            self.stepped = False
            self.note("bare", args, {})

    def note(self, model: int | str, args: tuple, kwargs: dict) -> None:
        """Note the rows of the largest tensor, unless a loader has just handed them out."""
        fresh, data.reading.fresh = data.reading.fresh, False
        if self.noted >= MOST_NOTED or not (tensors := leaves([args, kwargs])):
            return
        cut = fresh and len(max(tensors, key=torch.Tensor.numel)) not in data.reading.handed
        if not fresh or cut:
            self.noted += 1
            self.journal.note("rows", model=model, keys=keys_of(tensors)[0], cut=cut)


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on."""
    calls = Calls(journal)
    called, bare = journal.safely(calls.wrapper), journal.safely(calls.bare)
    forward, init = DistributedDataParallel.forward, DistributedDataParallel.__init__
    hook = register_module_forward_pre_hook(lambda module, args: bare(module, args) if calls.stepped else None)
    register_optimizer_step_post_hook(lambda *_: setattr(calls, "stepped", True))

    @functools.wraps(init)
    def watched_init(self, *args, **kwargs):
        hook.remove()  # wrappers are seen on their own: no other module need be asked
        init(self, *args, **kwargs)

    @functools.wraps(forward)
    def watched_forward(self, *args, **kwargs):
        called(self, args, kwargs)
        return forward(self, *args, **kwargs)

    DistributedDataParallel.__init__, DistributedDataParallel.forward = watched_init, watched_forward
