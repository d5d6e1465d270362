"""The exercise on accumulation: the gradient of many micro-batches, and one round of all-reduce."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.workbench.exercises.ddp import differing, flat, where
from ddp_lessons.workbench.exercises.exercise import ROUNDED, Exercise, first_hint, same, with_hint
from ddp_lessons.workbench.exercises.listen import Listening
from ddp_lessons.workbench.exercises.small_ddp import (
    factor,
    gradients,
    gradients_alone,
    hint,
    linear,
    prepare,
    samples,
    scaled,
)

COUNTS = (4, 3, 1)  # of micro-batches
CALLS = 2  # for each, since what a call leaves behind is found by the next
ROWS = 2
PASSES = ("forward", "backward")


def micro_batches(rank: int, count: int, call: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return a rank's micro-batches, in one of the calls."""
    return [samples(1000 * rank + 100 * call + number, ROWS) for number in range(count)]


def try_accumulate(attempt: Callable, counts: list[int]) -> list[dict]:
    """Return what the attempt leaves in the model, and what was heard meanwhile, in each call."""
    outputs = []
    for count in counts:
        wrapped, heard = DDP(linear()), []
        wrapped.register_comm_hook(None, allreduce_hook)  # the default one, from Python, where it can be heard
        for _ in range(2):  # before the second forward, DDP arranges its buckets anew, which needs messages of its own
            wrapped(samples(0, ROWS)[0]).sum().backward()
        wrapped.module.register_forward_hook(lambda *given, heard=heard, wrapped=wrapped: note(heard, wrapped, *given))
        for call in range(CALLS):
            wrapped.zero_grad()
            with Listening(heard):
                attempt(wrapped, micro_batches(dist.get_rank(), count, call))
            outputs.append({"count": count, "call": call, "heard": heard[:], "gradients": gradients(wrapped.module)})
            outputs[-1] |= {"weight": wrapped.module.weight.tolist(), "speaks": wrapped.require_backward_grad_sync}
            heard.clear()
    return outputs


def note(heard: list[dict], wrapped: DDP, model: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
    """Note a forward pass, and later its backward: whether DDP is to speak then."""
    if output.requires_grad:
        heard.append({"call": "forward", "sync": wrapped.require_backward_grad_sync, "rows": len(output)})
        output.register_hook(lambda _: heard.append({"call": "backward", "sync": wrapped.require_backward_grad_sync}))


def judge(results: list[list[dict]]) -> str:
    """Return what is wrong, by call and then by rank."""
    for outputs in zip(*results, strict=True):
        count, call = outputs[0]["count"], outputs[0]["call"]
        shares = [micro_batches(rank, count, call) for rank in range(len(outputs))]
        for rank, output in enumerate(outputs):
            if wrong := wrong_result(output, shares, rank) or wrong_rounds(output) or wrong_passes(output, count):
                return ("" if call == 0 else "when called again, ") + f"with {count} micro-batches, {wrong}"
    return ""


def wrong_result(output: dict, shares: list[list[tuple]], rank: int) -> str:
    """Return what is wrong with what a call left in the model, "" if nothing is."""
    wanted = gradients_alone([batch for share in shares for batch in share])
    if not same(output["weight"], linear().weight.tolist(), 1e-12):
        hint = "the optimizer's step comes later, and is not asked for: only the gradients are"
        return with_hint(f"the weights on rank {rank} have changed; right is to leave them", hint)
    if names := differing(output["gradients"], wanted):
        numbers = where(output["gradients"][names[0]], wanted[names[0]])
        wrong = f"the gradient of {names[0]} on rank {rank} {numbers}, as in the whole batch"
        return with_hint(wrong, first_hint(gradient_mistakes(output, wanted, [share[-1] for share in shares])))
    return ""


def gradient_mistakes(output: dict, wanted: dict, last: list[tuple]) -> dict[str, bool]:
    """Return hints for gradients; `last` are the ranks' last micro-batches."""
    given, heard = output["gradients"], output["heard"]
    spoken, passes = rounds(heard), [said for said in heard if said["call"] in PASSES]
    times = factor(given, wanted)
    silent = not any(said["sync"] for said in passes if said["call"] == "forward")
    return {
        "no pass was made: each micro-batch goes through `wrapped`, and `backward` is called on its loss": not passes,
        "gradients that were there are gone: an optimizer's step needs them": bool(passes) and None in given.values(),
        "the ranks have not spoken: whether a backward does is decided in its forward, and all forwards were in "
        "`no_sync`": not spoken and silent and any(said["sync"] for said in passes),
        "the ranks have not spoken: one pass must be made outside of `no_sync`, and by `wrapped`, not by its module": (
            not spoken
        ),
        "what is added after the ranks have spoken stays a rank's own: which pass must be the one that speaks?": (
            bool(spoken) and max(spoken) < max(i for i, said in enumerate(heard) if said["call"] == "backward")
        ),
        ROUNDED: same(flat(given), flat(wanted), 1e-5),
        "each loss is a mean over its micro-batch, and backward adds them up: the sum of the means is not their mean": (
            abs(times - output["count"]) < 1e-6
        ),
        "only the last micro-batch is in it: `zero_grad` belongs before the first one": (
            factor(given, gradients_alone(last)) != 0
        ),
        **scaled(times),
    }


def rounds(heard: list[dict]) -> list[int]:
    """Return the places in what was heard where the ranks speak."""
    return [place for place, said in enumerate(heard) if said["call"] not in PASSES]


def wrong_rounds(output: dict) -> str:
    """Return what is wrong with how often the ranks spoke, "" if nothing is."""
    heard = output["heard"]
    calls = [heard[place]["call"] for place in rounds(heard)]
    if len(calls) == 1:
        return ""
    forward, backward = ([said["sync"] for said in heard if said["call"] == call] for call in PASSES)
    return with_hint(
        f"the gradients are right, but the ranks spoke {len(calls)} times; right is once",
        first_hint(
            {
                "`no_sync` around `backward` is too late: whether it speaks is decided in forward": (
                    all(forward) and not all(backward)
                ),
                "DDP speaks in each backward, except where the pass was made in `with wrapped.no_sync():`": (
                    all(forward) and len(calls) == len(forward)
                ),
                f"there were {', '.join(calls)}; that of DDP in a backward brings all gradients at once": True,
            }
        ),
    )


def wrong_passes(output: dict, count: int) -> str:
    """Return what is wrong with passes whose gradients are right, "" if each took one micro-batch, and no memory."""
    passes = [said for said in output["heard"] if said["call"] in PASSES]
    rows = max(said.get("rows", 0) for said in passes)
    calls = "".join(said["call"][0] for said in passes)
    for wrong, why in {
        f"a pass had {rows} samples; right is {ROWS}": (
            "one pass over the whole batch needs the memory that accumulation is there to save" * (rows > ROWS)
        ),
        "two forwards came before a backward; right is one": (
            "what forward keeps for backward is freed by it: call `backward` after each forward" * ("ff" in calls)
        ),
        f"{calls.count('f')} forwards were made; right is {count}": (
            "the pass that speaks can be that of the last micro-batch" * (calls.count("f") > count)
        ),
        "the next backward would be silent; right is to leave the wrapper as it was": (
            "`with wrapped.no_sync():` puts back what was before, whatever happens inside" * (not output["speaks"])
        ),
    }.items():
        if why:
            return with_hint(f"the gradients are right, but {wrong}", why)
    return ""


EXERCISES = {"accumulate": Exercise(try_accumulate, judge, (list(COUNTS),), hint, prepare=prepare)}
