"""A small training in float64, on ranks with a wrapper that is tried, or on one process: what both of them give."""

from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
from torch import nn

from ddp_lessons.workbench.exercises.exercise import with_hint
from ddp_lessons.workbench.exercises.listen import Listening, hearing_waits

STEPS = 3
ROWS = 8


class Small(nn.Module):
    """A model with all that makes averaging go wrong: a tied weight, a frozen weight, and buffers."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.second.weight = self.first.weight
        self.frozen = nn.Linear(4, 4, bias=False).requires_grad_(False)
        self.register_buffer("shift", torch.randn(4))
        self.register_buffer("count", torch.randint(1000, (2,)))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return outputs, of shape (batch, 2)."""
        return self.last(self.second(torch.tanh(self.frozen(self.first(inputs) + self.shift))))


def small(seed: int) -> Small:
    """Return a model of random weights."""
    torch.manual_seed(seed)
    return Small().double()


def data() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the global batch, the same wherever it is asked for: inputs and what the outputs should be."""
    numbers = torch.randn(ROWS, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return numbers[:, :4], numbers[:, 4:]


def state(model: nn.Module) -> dict[str, list]:
    """Return parameters and buffers by name, a tied weight once."""
    return {name: tensor.tolist() for name, tensor in [*model.named_parameters(), *model.named_buffers()]}


def gradients(model: nn.Module) -> dict[str, list]:
    """Return gradients by name, None where there is none."""
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    return {name: None if p.grad is None else p.grad.tolist() for name, p in trained}


def train(model: nn.Module, wrapped: Callable, rows: slice) -> Iterator[dict]:
    """Yield the gradients of each step, and the state after it."""
    inputs, wanted = data()
    for _ in range(STEPS):
        model.zero_grad()
        nn.functional.mse_loss(wrapped(inputs[rows]), wanted[rows]).backward()
        getattr(wrapped, "finish", lambda: None)()
        given = gradients(model)
        for parameter in model.parameters():
            if parameter.grad is not None:  # an optimizer would do, and takes two seconds to import
                parameter.data -= 0.1 * parameter.grad
        yield {"gradients": given, "state": state(model)}


def unfit(wrapped: Callable, buckets: bool) -> str:
    """Return why a wrapper cannot be trained with, "" if it can."""
    name, parts = type(wrapped).__name__, wrapped.modules() if isinstance(wrapped, nn.Module) else []
    if any(isinstance(part, nn.parallel.DistributedDataParallel) for part in parts):
        return with_hint(f"{name} is torch's own wrapper", "write your own here: broadcast and all_reduce are enough")
    if buckets and not hasattr(wrapped, "finish"):
        return with_hint(f"{name} has no finish", "`finish()` is called after each backward: is it spelt so?")
    if not isinstance(given := wrapped(data()[0]), torch.Tensor):
        return with_hint(f"forward returned {given!r:.60}", "forward returns what the model returns")
    return ""


def try_training(attempt: type, options: list[list]) -> list[dict]:
    """Return what a wrapper makes of the training, with each of some options: every rank starts from other weights."""
    outputs = []
    for option in options:
        model, heard = small(seed=dist.get_rank()), []
        for parameter in model.parameters():
            if parameter.requires_grad:  # before the wrapper's hooks, so that this one runs first
                parameter.register_hook(lambda _, heard=heard: heard.append({"call": "ready"}))
        wrapped = attempt(model, *option)
        output = {"start": state(model), "steps": []}
        if wrong := unfit(wrapped, buckets=bool(option)):
            return [output | {"unfit": wrong}]
        with Listening(heard), hearing_waits(heard):
            for step in train(model, wrapped, slice(dist.get_rank(), None, dist.get_world_size())):
                output["steps"].append(step | {"heard": heard[:]})
                heard.clear()
        outputs.append(output)
    return outputs
