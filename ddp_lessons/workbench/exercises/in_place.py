"""What the exercises on messages share: a function that changes each rank's tensor in place, by send and recv."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist

from ddp_lessons.workbench.exercises.exercise import Exercise, first_hint, readable, same, with_hint
from ddp_lessons.workbench.exercises.listen import Listening, messages
from ddp_lessons.workbench.on_ranks import Outcome

MESSAGES_ONLY = "here only messages between two ranks are allowed: send, recv, isend, irecv, and what is made of them"
RECV_WAITS = (
    "a recv waits until the rank that it names sends to this one: does each recv have its send? "
    "The handle of an isend must be kept, and waited for: if it is dropped, so is the message"
)
SEND_WAITS = (
    "on gloo a send waits until the other rank receives; if everyone sends first, nobody comes to receive. "
    "`dist.isend` starts to send and goes on at once"
)
HANDLE_WAITS = (
    "a handle's wait comes back when the other rank has received or, after irecv, has sent: "
    "do all ranks wait before they come to that?"
)
NOT_RECEIVED = (
    "the other ranks have returned, and what is sent here was not received: each send needs its recv, "
    "and the handle of an irecv must be waited for"
)
NOT_WAITED_FOR = "a message is still under way: the handle of each isend and irecv must be kept, and waited for"
TOO_FEW = "are there N parts? `tensor.chunk(N)` can give fewer, `tensor.tensor_split(N)` does not; they count from 0"
TOO_SMALL = "a message was larger than the tensor it was received into: this must have the sender's length and dtype"


def start(rank: int, length: int) -> list[float]:
    """Return what a rank starts with: rank 0 with 10, 11, 12, rank 1 with 20, 21, 22, and so on."""
    return [10.0 * (rank + 1) + place for place in range(length)]


def try_in_place(attempt: Callable, in_parts: bool, from_each: bool) -> list[dict]:
    """Return, for each length, and each source where there is one, what this rank has afterwards, and what it said.

    Of a tensor that is to be cut, the length divides by N, or is one less, or so small that `chunk(N)` gives too few.
    """
    outputs, world_size = [], dist.get_world_size()
    for length in [2 * world_size, 3 * world_size - 1, world_size + 1] if in_parts else [3]:
        for source in [[rank] for rank in range(world_size)] if from_each else [[]]:
            tensor = torch.tensor(start(dist.get_rank(), length), dtype=torch.float64)
            with Listening() as listening:
                returned = type(attempt(tensor, *source)).__name__
            outputs.append({"source": source, "has": tensor.tolist(), "heard": listening.heard, "returned": returned})
            dist.barrier()  # a rank that is done with this case must not be taken for one that is stuck in the next
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
    in_parts: bool = False  # whether the tensor is to be cut into as many parts as there are ranks
    from_each: bool = False  # whether each rank is the source once
    fault: Callable[[int, list[dict]], str] = nothing_wrong  # of length and outputs, where the results are right

    def exercise(self) -> Exercise:
        """Return the exercise."""
        return Exercise(try_in_place, self.judge, (self.in_parts, self.from_each), self.hint)

    def judge(self, results: list[list[dict]]) -> str:
        """Return what is wrong with the first case in which something is."""
        return next(filter(None, map(self.judge_one, map(list, zip(*results, strict=True)))), "")

    def judge_one(self, outputs: list[dict]) -> str:
        """Return what is wrong in one case."""
        length, source = len(outputs[0]["has"]), outputs[0]["source"]
        call = f"{self.name}({', '.join(['tensor', *map(str, source)])})"
        if used := sorted({said["call"] for output in outputs for said in output["heard"]} - {"send", "recv"}):
            return with_hint(f"{call} calls {used[0]}", MESSAGES_ONLY)
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
        stuck = [wait for wait in waits if wait != "has returned"]
        to_itself = ("the rank of the current process", "Pair is not connected")
        return first_hint(
            {
                "a rank cannot send to itself, or receive from itself": any(e in outcome.sentence for e in to_itself),
                "two tensors differ in length: parts need not be equally long": "match the size" in outcome.sentence,
                TOO_FEW: self.in_parts and "IndexError" in outcome.sentence,
                TOO_SMALL: "op.preamble.length <= op.nbytes" in outcome.last_words,
                NOT_RECEIVED: stuck == ["waits in send"] and len(waits) > 1,
                NOT_WAITED_FOR: bool(waits) and not stuck,
                SEND_WAITS: "waits in send" in stuck and "waits in recv" not in stuck,
                RECV_WAITS: "waits in recv" in stuck,
                HANDLE_WAITS: "waits in wait" in stuck,
            }
        )


def idle(starts: list, outputs: list[dict]) -> dict[str, bool]:
    """Return hints for a function that leaves every rank what it had."""
    unchanged = all(same(output["has"], had) for output, had in zip(outputs, starts, strict=True))
    sent, received = (any(messages(o["heard"], call) for o in outputs) for call in ("send", "recv"))
    returned = {output["returned"] for output in outputs}
    return {
        "a function with `yield` runs only when somebody loops over it: leave `yield` out": "generator" in returned,
        "a function begun with `async def` runs only when it is awaited: begin it with `def`": "coroutine" in returned,
        "nothing was sent": unchanged and not sent,
        "nothing was received: each send needs its recv": not received,
        "messages came, and the caller's tensor is as it was: `tensor = …` only gives the name to another tensor, "
        "inside your function. `tensor.copy_(…)`, `tensor += …` and `dist.recv(tensor, …)` fill the caller's": (
            unchanged and sent
        ),
    }
