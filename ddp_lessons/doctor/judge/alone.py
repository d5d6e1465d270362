"""Kind 1 without a wrapper: ranks that train alone, or that average by hand and leave something out."""

import math
from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding, named, place_of
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.moments import Moment, apart, differ, of_optimizer

LESSON = "lesson4_ddp"
CODES = {
    "DDP120": Code("fault", "each rank trains alone", "wrap the model in DistributedDataParallel", LESSON),
    "DDP121": Code("suspect", "each rank trains alone", "wrap the model in DistributedDataParallel", LESSON),
    "DDP122": Code("fault", "averaging by hand is not whole", "average all gradients, each step; or wrap it", LESSON),
    "DDP123": Code(
        "suspect", "parameters in no wrapper", "put them into the wrapped module, and have none ignored", LESSON
    ),
}
ENOUGH = 2  # steps that show a habit
PERIOD = 20  # steps after which weights that are averaged now and then should have been so once
SMALL = 2  # numbers, as many as a loss or a count of hits has


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found of each optimizer that has parameters of equal shapes on all ranks, in no wrapper."""
    holds = {rank: {e["optimizer"]: e for e in events} for rank, events in run.of("holds").items() if events}
    for optimizer in sorted(set().union(*holds.values())):
        ours = {rank: ones[optimizer] for rank, ones in holds.items() if optimizer in ones}
        if len(ours) == len(run.ranks) > 1 and len({str([e["names"], e["shapes"]]) for e in ours.values()}) == 1:
            moments = [one for one in of_optimizer(run, optimizer, list(ours)) if len(one.prints) == len(ours)]
            if moments and parts(moments):
                yield from weights(Hand(run, optimizer, next(iter(ours.values())), moments))


def parts(moments: list[Moment]) -> bool:
    """Tell whether ranks are at one time apart, and then never again equal."""
    apart_at = next((at for at, one in enumerate(moments) if one.differ()), None)
    if apart_at is None or len([one for one in moments if one.key[0] == "step"]) < ENOUGH:
        return False
    name = moments[apart_at].differ()[0]
    return all(name in one.differ() for one in moments[apart_at:])


class Hand:
    """Steps that are taken without a wrapper, and how ranks meet around them."""

    def __init__(self, run: Run, optimizer: int, holds: dict, moments: list[Moment]):
        self.run, self.optimizer, self.moments = run, optimizer, moments
        self.ranks = sorted(moments[0].prints)
        self.steps = [one for one in moments if one.key[0] == "step"]
        self.whole = all(owner is None for owner, _ in holds["names"])  # nothing of it is in a wrapper
        names = [name for owner, name in holds["names"] if owner is None]
        sizes = [math.prod(shape) for (owner, _), shape in zip(holds["names"], holds["shapes"], strict=True)]
        self.size, self.names = sum(sizes), names
        self.calls = {rank: self.between(rank) for rank in self.ranks}

    def between(self, rank: int) -> list[dict]:
        """Return the calls of a rank from its first step to its last."""
        first, last = self.steps[0].at[rank], self.steps[-1].at[rank]
        return [e for e in self.run.ranks[rank][first:last] if e["what"] == "call" and e["name"] != "barrier"]

    def exchanged(self) -> bool:
        """Tell whether ranks had to do with each other between the steps, in calls that we see or in others."""
        counts = [[step.events[rank].get("exchanged") for step in self.steps] for rank in self.ranks]
        return any(self.calls.values()) or any(None in ones or ones[0] != ones[-1] for ones in counts)

    def same_numbers(self) -> bool:
        """Tell whether ranks began with the same learning rate and the like: else they are to differ."""
        return len({str(event.get("hyper")) for event in self.steps[0].events.values()}) == 1

    def gradients(self) -> dict[str, list[bool]]:
        """Return for each name at which steps its gradients were equal on all ranks, where they were not zero."""
        equal: dict[str, list[bool]] = {name: [] for name in self.names}
        for step in self.moments:
            apart_now = differ(step.grads)
            for name, seen in equal.items():
                prints = [grads.get(name, 0) for grads in step.grads.values()]
                if prints and max(prints) > 1:
                    seen.append(name not in apart_now)
        return {name: seen for name, seen in equal.items() if seen}

    def finding(self, code: str, text: str, name: str, at: tuple | None, grade: str = "") -> Finding:
        """Return a finding that says by how much a tensor differs."""
        return Finding(code, text + apart(self.run, name, self.ranks, optimizer=self.optimizer), at, grade)

    def sends_gradients(self) -> bool:
        """Tell whether ranks exchange as many numbers as they have weights between each backward and its step."""
        events, start = self.run.ranks[self.ranks[0]], 0
        for step in self.steps:
            here = events[start : step.at[self.ranks[0]]]
            last = max((at for at, event in enumerate(here) if event["what"] == "backward"), default=len(here))
            calls = [event for event in here[last:] if event["what"] == "call"]
            if sum(math.prod(call.get("shape", [0])) for call in calls) < self.size:
                return False
            start = step.at[self.ranks[0]]
        return True

    def averaging(self) -> tuple | None:
        """Return the line at which most is exchanged between steps, or else the step's."""
        calls = [one for one in self.calls[self.ranks[0]] if math.prod(one.get("shape", [])) > SMALL]
        return place_of(calls[-1]) if calls else self.steps[0].place()


def weights(hand: Hand) -> Iterator[Finding]:
    """Yield what is wrong with steps after which ranks differ."""
    unknown = any(event.get("exchanged") is None for step in hand.steps for event in step.events.values())
    if unknown and not any(hand.calls.values()):
        return  # they have no group, or what they do in it cannot be seen
    begun = hand.steps[0].differ()
    name = next(one for one in hand.moments if one.differ()).differ()[0]
    wrapped = any(True for _ in hand.run.all("wrap"))
    if not hand.whole or wrapped:
        yield from beside(hand, name, begun)
    elif not hand.exchanged() or is_small(hand):
        yield from lonely(hand, name, begun)
    else:
        yield from by_hand(hand, name, begun)


def is_small(hand: Hand) -> bool:
    """Tell whether ranks exchange nothing but single numbers, as they do to print a mean loss."""
    counts = [step.events[rank].get("exchanged") for step in (hand.steps[0], hand.steps[-1]) for rank in hand.ranks[:1]]
    seen = hand.calls[hand.ranks[0]]
    small = all("shape" in one and math.prod(one["shape"]) <= SMALL < hand.size for one in seen)
    return bool(seen) and small and None not in counts and counts[1] - counts[0] <= len(seen)


def lonely(hand: Hand, name: str, begun: list[str]) -> Iterator[Finding]:
    """Yield that ranks train alone."""
    last = max(hand.steps[-1].at.items())
    after = [e for e in hand.run.ranks[last[0]][last[1] :] if e["what"] == "call" and e["name"] != "barrier"]
    gathered = any(math.prod(one.get("shape", [SMALL + 1])) > SMALL for one in after)
    what = "single numbers only" if hand.exchanged() else "nothing"
    text = f"{named(hand.ranks)} took {hand.steps[-1].step} steps and exchanged {what} between them; {name} differs"
    early = any(end["how"] == "limit" for _, end in hand.run.all("end"))
    meant = not hand.same_numbers() or (begun and gathered)
    few = hand.steps[-1].step < PERIOD
    grade = "note" if meant or (early and few) else "suspect" if early else ""
    yield hand.finding("DDP121" if hand.exchanged() else "DDP120", text, name, hand.steps[0].place(), grade)


def beside(hand: Hand, name: str, begun: list[str]) -> Iterator[Finding]:
    """Yield that something is trained beside a wrapper, and not kept equal."""
    bare = name.removeprefix("module.")
    told = [event for _, event in hand.run.all("wrap") if bare in event["ignored"]]
    own = begun or not any(event["drawn"] for event in told)  # not drawn alike: each rank is to have a part of its own
    if (told and own) or not any(not all(seen) for seen in hand.gradients().values()):
        return
    is_in = f"{bare} is left out by the wrapper, as it was told," if told else f"{name} is in no wrapper,"
    text = f"{is_in} and each of {named(hand.ranks)} trains its own"
    at = place_of(told[0]) if told else hand.steps[0].place()
    yield hand.finding("DDP123", text, name, at, "note" if begun else "")


def by_hand(hand: Hand, name: str, begun: list[str]) -> Iterator[Finding]:
    """Yield what is left out by ranks that average gradients by hand; nothing where they may do something else."""
    equal = hand.gradients()
    never, always = ([n for n, seen in equal.items() if test(seen)] for test in (lambda s: not any(s), all))
    if equal and len(always) == len(equal):
        if begun:
            text = f"gradients are averaged, but {begun[0]} was not the same on {named(hand.ranks)} at the first step"
            yield hand.finding("DDP122", text, begun[0], hand.steps[0].place())
    elif begun:
        return  # each rank may have another part of one model
    elif always and never:
        text = f"the gradient of {never[0]} is averaged at no step, unlike that of {always[0]}"
        yield hand.finding("DDP122", text, never[0], hand.averaging(), "suspect")
    elif len(never) < len(equal):
        first = next(step for step in hand.moments if differ(step.grads))
        text = f"the gradient of {differ(first.grads)[0]} is averaged at some steps, and not at step {first.step}"
        yield hand.finding("DDP122", text, name, hand.averaging())
    elif hand.sends_gradients():
        text = f"before each step ranks exchange as much as there are gradients, but step with others: {name} differs"
        yield hand.finding("DDP122", text, name, hand.averaging(), "suspect")
