"""What the exercises of lesson 5 share: a linear model in DDP, in float64, and ways to compare gradients."""

import importlib

import torch
import torch.distributed.nn.functional  # while there is no group: it keeps the one it finds, and ours come and go
from torch import nn

from ddp_lessons.workbench.exercises.ddp import flat
from ddp_lessons.workbench.exercises.exercise import first_hint, same
from ddp_lessons.workbench.on_ranks import Outcome

CUT_OFF = (
    "the loss must come from the logits by operations that autograd sees: `.item()`, `.detach()` and `torch.tensor(…)` "
    "cut it off"
)


def prepare() -> None:
    """Import what DDP imports when the first one is made, for seconds: it is not the attempt's fault."""
    importlib.import_module("torch._dynamo")


def linear() -> nn.Linear:
    """Return the same model wherever it is asked for."""
    torch.manual_seed(0)
    return nn.Linear(4, 3).double()


def samples(seed: int, number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return so many inputs and labels for it, the same for one seed."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(number, 4, generator=generator, dtype=torch.float64)
    return inputs, torch.randint(3, (number,), generator=generator)


def gradients(model: nn.Module) -> dict[str, list | None]:
    """Return gradients by name, None where there is none."""
    return {name: None if p.grad is None else p.grad.tolist() for name, p in model.named_parameters()}


def gradients_alone(batches: list[tuple[torch.Tensor, torch.Tensor]], reduction: str = "mean") -> dict[str, list]:
    """Return what one process gets of all batches as one."""
    model, (inputs, labels) = linear(), map(torch.cat, zip(*batches, strict=True))
    nn.functional.cross_entropy(model(inputs), labels, reduction=reduction).backward()
    return gradients(model)


def factor(given: dict, wanted: dict) -> float:
    """Return the number that all of one are, times the other; 0 if there is none."""
    given, wanted = flat(given), flat(wanted)
    times = given[0] / wanted[0] if given else 0
    return times if same(given, [times * number for number in wanted], 1e-9) else 0


def scaled(times: float) -> dict[str, bool]:
    """Return the hint for numbers that are so many times what is right, and whether it is due: 1 would say nothing."""
    said = f"{times:.4g}"
    hint = f"all numbers are {said} times what is right: what is divided by, or multiplied with, once too often?"
    return {hint: said not in ("0", "1")}


def out_of_step(outcome: Outcome) -> bool:
    """Tell whether the ranks made different calls: they wait for each other, or one ended by another's message."""
    died = any(words in outcome.sentence + outcome.last_words for words in ("by peer", "op.preamble.length"))
    return died or bool(outcome.late) and not outcome.errors


def hint(outcome: Outcome) -> str:
    """Return a hint for an attempt that failed, or hung."""
    said = outcome.sentence
    return first_hint(
        {
            "return the loss: `backward` is called on what comes back": "has no attribute 'backward'" in said,
            CUT_OFF: "does not require grad" in said,
            "a loss is one number": "only for scalar outputs" in said,
            "`backward` is called on the loss that you return, and only once": "backward through the graph" in said,
            "a collective call comes back when all ranks have made it, each the same one: do they?": (
                out_of_step(outcome)
            ),
        }
    )
