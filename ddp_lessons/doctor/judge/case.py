"""A case of ranks that differ: what happened on each of them since they did not."""

from collections.abc import Iterator
from dataclasses import dataclass

from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.moments import Moment, pairs


@dataclass
class Case:
    """Ranks that differ at a `moment` and did not `before` it; `wraps` are their wrap events."""

    run: Run
    model: int
    wraps: dict[int, dict]
    before: Moment | None
    moment: Moment

    def __post_init__(self):
        self.ranks = sorted(self.moment.prints)
        self.windows = {rank: self.window(rank) for rank in self.ranks}

    def window(self, rank: int) -> list[dict]:
        """Return what happened on a rank since before: if that is the step itself, since the step before."""
        events, end = self.run.ranks[rank], self.moment.at[rank]
        start = self.before.at.get(rank, -1) if self.before else -1
        if self.is_update():
            others = [at for at, event in enumerate(events[:start]) if self.is_step(event)]
            start = others[-1] if others else -1
        return events[start + 1 : end + 1]

    def is_update(self) -> bool:
        """Tell whether nothing but the optimizer's step lies between both moments."""
        return bool(self.before) and self.before.key == ("step", *self.moment.key[1:])

    def is_step(self, event: dict) -> bool:
        """Tell whether an event is a step of the optimizer that the moment is of."""
        return event["what"] == "step" and event["optimizer"] == self.moment.key[1]

    def is_trained(self) -> bool:
        """Tell whether a step came in between, or, where no optimizer has the model, what a step by hand needs."""
        holds = self.run.of("holds")[self.ranks[0]]
        ours = {event["optimizer"] for event in holds if any(owner == self.model for owner, _ in event["names"])}
        if not ours:
            return any(True for _ in self.all("backward", "raw", "grad"))
        steps = [e for r, e in self.all("step") if e["optimizer"] in ours and e is not self.moment.events[r]]
        return self.is_update() or bool(steps)

    def all(self, *whats: str) -> Iterator[tuple[int, dict]]:
        """Yield (rank, event) for what concerns the model, of some kinds, since before."""
        for rank, events in self.windows.items():
            for event in events:
                if event["what"] in whats and event.get("model", self.model) == self.model:
                    yield rank, event

    def reducing(self, rank: int) -> list[dict]:
        """Return the backwards in the window that reduced gradients of the model."""
        return [e for e in self.windows[rank] if e["what"] == "backward" and self.model in e["models"]]

    def reduced(self) -> dict[int, list[int]]:
        """Return for each rank the gradients that its last backward has left, if all ranks have looked."""
        last = {rank: event["grads"] for rank, event in self.all("reduced")}
        return last if len(last) == len(self.ranks) else {}

    def gradients(self) -> dict[int, dict[str, int]]:
        """Return the gradients that ranks stepped with, as far as they were looked at."""
        seen = self.moment.grads if self.moment.key[0] == "step" else (self.before.grads if self.is_update() else {})
        if any(seen.values()):
            return seen
        if any(self.moment.grads.values()):
            return self.moment.grads
        return {rank: pairs(self.wraps[rank]["names"], grads) for rank, grads in self.reduced().items()}
