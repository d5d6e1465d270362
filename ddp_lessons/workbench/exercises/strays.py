"""The exercise on drift: which parameters are not the same on all ranks."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn

from ddp_lessons.workbench.exercises.exercise import Exercise, first_hint, readable, with_hint
from ddp_lessons.workbench.exercises.small_ddp import out_of_step
from ddp_lessons.workbench.on_ranks import Outcome

CASES = {  # what has happened, and the names that every rank must return
    "the weights are the same on all ranks": [],
    "0.bias differs on rank 0": ["0.bias"],
    "0.bias differs on rank 1": ["0.bias"],
    "a tiny number in 1.weight differs on the last rank, as little as it can": ["1.weight"],
    "two numbers of 0.weight have changed places on rank 1": ["0.weight"],
    "1.bias, which is frozen, differs on the last rank": ["1.bias"],
    "0.weight differs on rank 0, and 1.weight on the last rank": ["0.weight", "1.weight"],
}
EQUAL, ON_RANK_0, ON_RANK_1, TINY, SWAPPED, IN_FROZEN, IN_TWO = CASES


def two_layers() -> nn.Sequential:
    """Return the same model wherever it is asked for, with a frozen bias, and a tiny number among the weights."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model[1].weight.data[0, 0] = 1e-30
    model[1].bias.requires_grad_(False)
    return model


def drift(model: nn.Sequential, case: str) -> None:
    """Have happen to this rank's weights what a case says."""
    first, second, rank = model[0], model[1], dist.get_rank()
    last = rank == dist.get_world_size() - 1
    with torch.no_grad():
        if case == TINY and last:
            second.weight[0, 0] = torch.nextafter(second.weight[0, 0], torch.tensor(1.0))
        elif case == SWAPPED and rank == 1:
            first.weight[0] = first.weight[0].flip(0)
        elif case == IN_FROZEN and last:
            second.bias[1] += 0.25
        elif case == IN_TWO and (rank == 0 or last):
            (first if rank == 0 else second).weight[1, 1] -= 0.5
        elif case in (ON_RANK_0, ON_RANK_1) and rank == (ON_RANK_0, ON_RANK_1).index(case):
            first.bias[0] += 0.25


def try_strays(attempt: Callable, cases: list[str]) -> list[dict]:
    """Return what the attempt returns in each case, and which parameters it has changed."""
    outputs = []
    for case in cases:
        model = two_layers()
        drift(model, case)
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        given = attempt(model)
        changed = [name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])]
        outputs.append({"given": given, "changed": changed})
        dist.barrier()  # a rank that is done with this case must not be taken for one that is stuck in the next
    return outputs


def names_in(given: object) -> list[str] | None:
    """Return the names that were given, sorted; None if it is no list of names."""
    right = isinstance(given, list) and all(isinstance(name, str) for name in given)
    return sorted(given) if right else None


def judge(results: list[list[dict]]) -> str:
    """Return what is wrong with the names, by case and then by rank."""
    for (case, wanted), outputs in zip(CASES.items(), zip(*results, strict=True), strict=True):
        given = [names_in(output["given"]) for output in outputs]
        if changed := [(rank, output["changed"]) for rank, output in enumerate(outputs) if output["changed"]]:
            wrong = f"{case}, and strays has changed {readable(changed[0][1])} on rank {changed[0][0]}"
            hint = "broadcast, all_reduce and their like write into the tensor they are given: give them a copy"
            return with_hint(f"{wrong}; right is to leave it", hint)
        for rank, output in enumerate(outputs):
            if given[rank] != wanted:
                wrong = f"{case}, and strays gave {readable(output['given'])} on rank {rank}; right is {wanted}"
                return with_hint(wrong, first_hint(mistakes(case, given, wanted)))
    return ""


def mistakes(case: str, given: list[list[str] | None], wanted: list[str]) -> dict[str, bool]:
    """Return hints for what the ranks gave."""
    nothing = not any(given)
    together = sorted({name for names in given for name in names or []})
    return {
        "a list of names is asked for, from every rank: `model.named_parameters()` has them": (
            not any(isinstance(names, list) for names in given)
        ),
        "what some ranks know all must return: how does a rank hear of it?": (
            bool(wanted) and set(wanted) <= set(together) and any(set(names or []) != set(together) for names in given)
        ),
        "each name once": all(names is not None and sorted(set(names)) == wanted for names in given),
        "every rank must return a list, an empty one if all is well": None in given,
        "nothing differs: is what you compare the same in every process? `hash` of words is not, and an average of "
        "equal numbers is rounded": case == EQUAL and bool(together),
        "rank 0 can be the one that strays: with whom is it compared?": case == ON_RANK_0 and nothing,
        "any rank can be the one that strays: are all compared?": case == ON_RANK_1 and nothing,
        "a sum, a mean or a tolerance rounds the difference away: compare the numbers themselves": (
            case == TINY and nothing
        ),
        "a sum does not know in which order the numbers stand": case == SWAPPED and nothing,
        "a frozen weight learns nothing, but it can stray": case == IN_FROZEN and nothing,
        "more than one can stray: go on after the first": case == IN_TWO and len(together) == 1,
    }


def hint(outcome: Outcome) -> str:
    """Return a hint for an attempt that failed, or hung."""
    return first_hint(
        {
            "`.detach()` gives the numbers of a parameter without autograd": "requires grad" in outcome.sentence,
            "a collective call comes back when all ranks have made it, each the same one: do all come to it, "
            "also those that have found something?": out_of_step(outcome),
        }
    )


EXERCISES = {"strays": Exercise(try_strays, judge, (list(CASES),), hint, ranks=(2, 3, 4))}
