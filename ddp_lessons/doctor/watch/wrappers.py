"""What is noted of one wrapper: what it was made of, and fingerprints of what it holds. See `training.py`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ddp_lessons.doctor.journal import Journal
from ddp_lessons.doctor.watch.fingerprints import (
    due,
    fingerprint,
    is_finite,
    is_plain,
    of_gradients,
    size_of,
    some_values,
)


class Wrapped:
    """A wrapper, and what its parameters were when it was made."""

    def __init__(self, wrapper: DistributedDataParallel, model: int, journal: Journal):
        self.wrapper, self.model, self.journal = wrapper, model, journal
        self.forwards = self.reductions = 0
        self.altered: dict[str, str] = {}
        ignored = getattr(wrapper, "parameters_to_ignore", set())
        self.ignored = {name.removeprefix("module.") for name in ignored}
        self.made_of = self.now = self.parameters()
        self.trainable = {name for name, parameter in self.made_of.items() if parameter.requires_grad}
        self.size = size_of(self.made_of.values())

    def parameters(self) -> dict:
        """Return the parameters, by name, that the wrapper is to keep equal."""
        return {name: one for name, one in self.wrapper.module.named_parameters() if name not in self.ignored}

    def buffers(self) -> dict:
        """Return the buffers, by name, that it is to keep equal."""
        return {name: one for name, one in self.wrapper.module.named_buffers() if name not in self.ignored}

    def note_wrap(self) -> None:
        """Note that it has been made."""
        norms = [f"{name}." for name, one in self.wrapper.module.named_modules() if isinstance(one, BATCH_NORMS)]
        buffers = list(self.buffers())
        others = [pair for pair in self.wrapper.module.named_parameters() if pair[0] in self.ignored]
        self.journal.note(
            "wrap",
            model=self.model,
            names=list(self.made_of),
            trainable=sorted(self.trainable),
            params=[fingerprint(one) for one in self.made_of.values()],
            shapes=[list(one.shape) for one in self.made_of.values()],
            ignored=sorted(self.ignored),
            drawn=[name for name, one in others if varies(one)],
            buffers=buffers,
            statistics=[name for name in buffers if name.startswith(tuple(norms)) or "." in norms],
            ranks=dist.get_process_group_ranks(self.wrapper.process_group),
        )

    def look(self) -> dict:
        """Return the parameters as they are now; note it where they are not as when they were wrapped."""
        now, how = self.parameters(), {}
        for name, parameter in now.items():
            if name not in self.made_of:
                how[name] = "added"
            elif parameter is not self.made_of[name]:
                how[name] = "replaced"
            elif parameter.requires_grad is not (name in self.trainable):
                how[name] = "unfrozen" if parameter.requires_grad else "frozen"
        hooks = bool(getattr(self.wrapper, "_comm_hooks", ()))
        if (how, hooks) != self.altered and (how or hooks or self.altered):
            self.altered = how, hooks
            self.journal.note("altered", model=self.model, how=how, hooks=hooks)
        self.now = {name: now[name] for name in self.made_of if name in now}
        return self.now

    def forward(self, stepped: bool) -> dict:
        """Return the fingerprints for a forward; those of parameters not, if an optimizer has `stepped` with them."""
        self.forwards += 1
        if not due(self.forwards - 1, self.size):
            return {}
        now, buffers = self.look(), self.buffers()
        prints = {"buffers": [fingerprint(one) for one in buffers.values()]} if buffers else {}
        return prints if stepped else prints | {"params": [fingerprint(one) for one in now.values()]}

    def reduced(self) -> None:
        """Note the gradients that a backward has left."""
        self.reductions += 1
        if due(self.reductions - 1, self.size):
            self.journal.note("reduced", model=self.model, grads=of_gradients(self.now.values()))

    def final(self) -> None:
        """Note what it holds at the end."""
        tensors = self.parameters()
        finite = all(is_finite(tensor) for tensor in tensors.values() if is_plain(tensor))
        values = {name: some_values(tensor) for name, tensor in (tensors | self.buffers()).items()}
        prints = [fingerprint(tensor) for tensor in tensors.values()]
        self.journal.note("final", model=self.model, values=values, finite=finite, params=prints, place=None)


def varies(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor's numbers are not all the same, as those are that it was made with to begin at 0 or 1."""
    return is_plain(tensor) and tensor.numel() > 0 and not bool((tensor == tensor.reshape(-1)[0]).all())


BATCH_NORMS = nn.modules.batchnorm._NormBase
