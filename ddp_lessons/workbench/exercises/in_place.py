"""What the exercises on messages share: a function that changes each rank's tensor in place, by send and recv."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist

from ddp_lessons.workbench.exercises.exercise import Exercise, first_hint, readable, same, with_hint
from ddp_lessons.workbench.exercises.listen import Listening, collectives, messages
from ddp_lessons.workbench.on_ranks import Outcome

RECV_WAITS = (
    "a recv waits until the rank that it names sends to this one: does each recv have its send? "
    "The handle of an isend must be kept, and waited for: if it is dropped, so is the message"
)
SEND_WAITS = (
    "on gloo a send waits until the other rank receives; if everyone sends first, nobody comes to receive. "
    "`dist.isend` starts to send and goes on at once"
)


def start(rank: int, length: int) -> list[float]:
    """Return what a rank starts with: rank 0 with 10, 11, 12, rank 1 with 20, 21, 22, and so on."""
    return [10.0 * (rank + 1) + place for place in range(length)]


def try_in_place(attempt: Callable, lengths: list[int], from_each: bool) -> list[dict]:
    """Return, for each length, and each source where there is one, what this rank has afterwards, and what it said."""
    outputs = []
    for length in lengths:
        for source in [[rank] for rank in range(dist.get_world_size())] if from_each else [[]]:
            tensor = torch.tensor(start(dist.get_rank(), length), dtype=torch.float64)
            with Listening() as listening:
                attempt(tensor, *source)
            outputs.append({"source": source, "has": tensor.tolist(), "heard": listening.heard})
    return outputs


def nothing_wrong(length: int, outputs: list[dict]) -> str:
    """Find no fault with how right results came about."""
    return ""


@dataclass
class InPlace:
    """A judge of such a function. Lists, of starts and of outputs, are by rank."""

    name: str
    answer: Callable[..., list[float]]  # of starts, and of the source if there is one: what every rank must have
    mistakes: Callable[[list, list, list], dict[str, bool]]  # of starts, outputs, answer: hints, and which are due
    lengths: tuple[int, ...] = (3,)
    from_each: bool = False  # whether each rank is the source once
    fault: Callable[[int, list[dict]], str] = nothing_wrong  # of length and outputs, where the results are right

    def exercise(self) -> Exercise:
        """Return the exercise."""
        return Exercise(try_in_place, self.judge, (self.lengths, self.from_each), self.hint)

    def judge(self, results: list[list[dict]]) -> str:
        """Return what is wrong with the first case in which something is."""
        return next(filter(None, map(self.judge_one, map(list, zip(*results, strict=True)))), "")

    def judge_one(self, outputs: list[dict]) -> str:
        """Return what is wrong in one case."""
        length, source = len(outputs[0]["has"]), outputs[0]["source"]
        call = f"{self.name}({', '.join(['tensor', *map(str, source)])})"
        if used := sorted({name for output in outputs for name in collectives(output["heard"])}):
            return with_hint(f"{call} calls {used[0]}", "here only send, recv, isend and irecv are allowed")
        starts = [start(rank, length) for rank in range(len(outputs))]
        wanted = self.answer(starts, *source)
        for rank, output in enumerate(outputs):
            if not same(output["has"], wanted, 1e-9):
                had, has = readable(starts[rank]), readable(output["has"])
                wrong = f"rank {rank} had {had}, and has {has} after {call}; right is {readable(wanted)}"
                return with_hint(wrong, first_hint(idle(starts, outputs) | self.mistakes(starts, outputs, wanted)))
        return self.fault(length, outputs)

    def hint(self, outcome: Outcome) -> str:
        """Return a hint for an attempt that failed, or did not come back."""
        waits = [place.split(",")[0] for place in outcome.late.values() if not outcome.errors]
        to_itself = ("the rank of the current process", "Pair is not connected")
        return first_hint(
            {
                "a rank cannot send to itself, or receive from itself": any(e in outcome.sentence for e in to_itself),
                "two tensors differ in length: parts need not be equally long": "match the size" in outcome.sentence,
                SEND_WAITS: "waits in send" in waits and "waits in recv" not in waits,
                RECV_WAITS: "waits in recv" in waits,
            }
        )


def idle(starts: list, outputs: list[dict]) -> dict[str, bool]:
    """Return hints for a function that leaves every rank what it had."""
    unchanged = all(same(output["has"], had) for output, had in zip(outputs, starts, strict=True))
    sent = any(messages(output["heard"], "send") for output in outputs)
    return {
        "nothing was sent": unchanged and not sent,
        "messages came, and the caller's tensor is as it was: `tensor = …` only gives the name to another tensor, "
        "inside your function. `tensor.copy_(…)`, `tensor += …` and `dist.recv(tensor, …)` fill the caller's": (
            unchanged and sent
        ),
    }
