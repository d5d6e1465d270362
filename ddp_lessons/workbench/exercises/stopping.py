"""The exercise on an orderly end: one rank is asked to stop, and all leave after the same step."""

from collections.abc import Callable

import torch
import torch.distributed as dist

from ddp_lessons.workbench.exercises.buckets import NOT_WAITED, unwaited
from ddp_lessons.workbench.exercises.exercise import Exercise, first_hint, readable, same, with_hint
from ddp_lessons.workbench.exercises.listen import Listening, hearing_waits
from ddp_lessons.workbench.exercises.small_ddp import out_of_step
from ddp_lessons.workbench.on_ranks import Outcome

MOST = 8  # steps, if nobody is asked
NOBODY, RANK_1, RANK_0, LAST, ALL, TWO, LATE = CASES = [  # who is asked to stop (-1: the last rank), in which step
    [],
    [[1, 3]],
    [[0, 2]],
    [[-1, 1]],
    [[0, 4], [1, 4], [2, 4], [3, 4]],
    [[0, 5], [-1, 2]],
    [[-1, MOST]],
]


def asked_in(case: list[list[int]], rank: int, world_size: int) -> int:
    """Return the step in which a rank is asked to stop, one that never comes if it is not."""
    return min([step for who, step in case if who % world_size == rank and who < world_size], default=9 * MOST)


def right_steps(case: list[list[int]], world_size: int) -> int:
    """Return after how many steps all ranks are to leave."""
    return min(MOST, *(asked_in(case, rank, world_size) for rank in range(world_size)))


class Steps:
    """Steps of a training, in each of which all ranks speak, and at the end of one a wish to stop."""

    def __init__(self, asked_in: int):
        self.asked_in, self.done = asked_in, 0

    def step(self) -> None:
        """Take a step, which hangs unless all ranks take it, as in DDP."""
        if self.done == 2 * MOST:
            raise RuntimeError(f"step was called {self.done} times, and `most` is {MOST}")
        dist.all_reduce(torch.ones(1))
        self.done += 1

    def asked(self) -> bool:
        """Tell whether this rank was asked to stop."""
        return self.done >= self.asked_in


def try_steps(attempt: Callable, cases: list) -> list[dict]:
    """Return how many steps this rank has done in each case, and how many the attempt says there were."""
    outputs = []
    for case in cases:
        steps, heard = Steps(asked_in(case, dist.get_rank(), dist.get_world_size())), []
        with Listening(heard), hearing_waits(heard):
            given = attempt(steps.asked, steps.step, MOST)
        outputs.append({"given": given, "done": steps.done, "unwaited": unwaited(heard)})
        dist.barrier()  # a rank that is done with this case must not be taken for one that is stuck in the next
    return outputs


def judge(results: list[list[dict]]) -> str:
    """Return what is wrong with the steps, by case and then by rank."""
    cases = list(zip(CASES, zip(*results, strict=True), strict=True))
    failed = [case for case, outputs in cases if wrong(case, outputs)]
    if any(output["unwaited"] for outputs in results for output in outputs):
        return with_hint("an all_reduce was left without a wait; right is to wait", NOT_WAITED)
    for case, outputs in cases:
        if said := wrong(case, outputs):
            said = f"{who_is_asked(case, len(outputs))}, and {said}"
            return with_hint(said, first_hint(mistakes(case, outputs, failed)))
    return ""


def who_is_asked(case: list[list[int]], world_size: int) -> str:
    """Return, for instance, "rank 1 was asked to stop in step 3"."""
    steps = {rank: asked_in(case, rank, world_size) for rank in range(world_size)}
    asked = [f"rank {rank} was asked to stop in step {step}" for rank, step in steps.items() if step <= MOST]
    return " and ".join(asked) or "nobody was asked to stop"


def wrong(case: list[list[int]], outputs: tuple[dict]) -> str:
    """Return what is wrong in a case, "" if nothing is."""
    right = right_steps(case, len(outputs))
    for rank, output in enumerate(outputs):
        if not same([output["done"], output["given"]], [right, right]):
            done, given = output["done"], readable(output["given"])
            return f"rank {rank} did {done} of {MOST} steps and gave {given}; right is {right}"
    return ""


def mistakes(case: list[list[int]], outputs: tuple[dict], failed: list) -> dict[str, bool]:
    """Return hints for a case; `failed` are all cases with a mistake."""
    right, done, given = right_steps(case, len(outputs)), outputs[0]["done"], [output["given"] for output in outputs]
    to_the_end, unheard = done == MOST, [case for case in (RANK_0, RANK_1, LAST) if case in failed]
    return {
        "all ranks left in time: return how many steps were done, on every rank": done == right,
        "the steps went on to the end: ask and agree after each of them": (
            to_the_end and same(given, [right] * len(given))
        ),
        "only rank 0's wish is heard: any rank can be the one that is asked": to_the_end and unheard == [RANK_1, LAST],
        "some rank's wish is not heard: any rank can be the one that is asked": to_the_end and 0 < len(unheard) < 3,
        "all ranks must wish it for that to stop: one is enough": to_the_end and ALL not in failed,
        "more than one can be asked at the same time: what is the sum then?": case == ALL and done > right,
        "all ranks left, and too late: agree after each step, and leave before the next": right < done < MOST,
        "all ranks left, and too early: was anybody asked?": done < right,
        "with an agreement after each step, one step is enough to hear of a wish": done > right,
    }


def hint(outcome: Outcome) -> str:
    """Return a hint for an attempt that failed, or hung."""
    return first_hint(
        {
            "if nobody is asked to stop, the training ends after `most` steps": "step was called" in outcome.sentence,
            "some ranks leave, and others wait for them in the next step: after each, let all ranks decide, from what "
            "all of them wish": out_of_step(outcome),
        }
    )


EXERCISES = {"steps_until_stop": Exercise(try_steps, judge, (CASES,), hint)}
