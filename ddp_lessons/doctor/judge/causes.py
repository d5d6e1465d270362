"""Why parameters of a wrapper that were equal are so no longer: read from what happened on each rank in between."""

from ddp_lessons.doctor.finding import named, place_of
from ddp_lessons.doctor.judge.case import Case
from ddp_lessons.doctor.judge.moments import differ, pairs

Cause = tuple[str, str, tuple | None]  # a code, what happened, and where


def why(case: Case) -> Cause:
    """Return the likeliest cause."""
    if not case.is_trained():
        return edited(case)
    for look in (skipped, altered, raw, unsynced, elsewhere, afterwards, unfinished, otherwise):
        if found := look(case):
            return found
    hooks = any(e["hooks"] for r in case.ranks for e in case.run.of("altered")[r] if e["model"] == case.model)
    because = "its wrapper reducing by a hook of the script's own" if hooks else "and the run does not show why"
    return "DDP100", because, case.moment.place()


def edited(case: Case) -> Cause:
    """No step came in between: somebody changed the weights."""
    loads = [event for _, event in case.all("restored")]
    name, now = case.moment.differ()[0], case.moment
    if loads:
        return "DDP107", "since weights were loaded after wrapping, not the same on all of them", place_of(loads[0])
    if not case.before:
        return "DDP107", "and they never were", now.place()
    changed = [rank for rank in case.ranks if case.before.prints.get(rank, {}).get(name) != now.prints[rank][name]]
    rank = changed[0] if changed else case.ranks[0]
    lines = [one.place(rank)[1] if rank in one.events and one.place(rank) else "?" for one in (case.before, now)]
    between = f"between lines {lines[0]} and {lines[1]}" if lines[0] != lines[1] else f"after line {lines[0]}"
    text = f"since {named(changed or case.ranks)} changed it {between}, without a step"
    return "DDP107", text, case.before.place(rank)


def skipped(case: Case) -> Cause | None:
    """A rank has reduced as often as the others, and stepped less often."""
    counts = {}
    for rank in case.ranks:
        events = case.run.ranks[rank][: case.moment.at[rank]]
        counts[rank] = sum(1 for e in events if e["what"] == "backward" and case.model in e["models"])
    most, least = max(counts, key=counts.get), min(counts, key=counts.get)
    if case.moment.key[0] not in ("step", "stepped") or counts[most] == counts[least]:
        return None
    text = f"since rank {most} has left out a step: its step {case.moment.step} comes after {counts[most]} backwards"
    return "DDP108", f"{text}, that of rank {least} after {counts[least]}", case.moment.place(most)


def altered(case: Case) -> Cause | None:
    """What differs is not as the wrapper knows it."""
    for rank in case.ranks:
        for event in reversed(case.run.ranks[rank][: case.moment.at[rank] + 1]):
            if event["what"] == "altered" and event["model"] == case.model:
                names = [name for name in case.moment.differ() if name in event["how"]]
                if names:
                    how = event["how"][names[0]]
                    return "DDP102", f"since it was {how} after its model was wrapped", place_of(case.wraps[rank])
                break
    return None


def raw(case: Case) -> Cause | None:
    """The module was called, not its wrapper."""
    calls = list(case.all("raw"))
    if not calls or (all(case.reducing(rank) for rank in case.ranks) and not differ(case.gradients())):
        return None
    text = "since the module was called, not its wrapper, which so reduced no gradients"
    return "DDP101", text, place_of(calls[0][1])


def unsynced(case: Case) -> Cause | None:
    """The last forward before the step was not to be reduced."""
    for rank in case.ranks:
        forwards = [event for one, event in case.all("forward") if one == rank and event["grad"]]
        if forwards and not forwards[-1]["sync"]:
            events = case.run.ranks[rank][: case.moment.at[rank]]
            contexts = [e for e in events if e["what"] == "no_sync" and e["model"] == case.model]
            text = "since its last forward before the step was in no_sync, so that gradients were not reduced"
            return "DDP103", text, place_of(contexts[-1] if contexts else forwards[-1])
    return None


def elsewhere(case: Case) -> Cause | None:
    """No backward has reduced anything."""
    if all(case.reducing(rank) for rank in case.ranks):
        return None
    grads = [event for _, event in case.all("grad")]
    how = "torch.autograd.grad, past which the wrapper reduces nothing" if grads else "no backward through the wrapper"
    return "DDP104", f"since the gradients come from {how}", place_of(grads[0]) if grads else case.moment.place()


def afterwards(case: Case) -> Cause | None:
    """Gradients were equal, and then were changed."""
    reduced = {rank: pairs(case.wraps[rank]["names"], grads) for rank, grads in case.reduced().items()}
    names = differ(case.gradients())
    if not names or not reduced or set(names) & set(differ(reduced)):
        return None
    event = [event for _, event in case.all("backward")][-1]
    since = f"line {event['place'][1]}" if event.get("place") else "the backward"
    step = case.before if case.is_update() else case.moment
    return "DDP105", f"since the gradient was changed after {since} had averaged it", step.place()


def unfinished(case: Case) -> Cause | None:
    """The backward did not come to all parameters, so that the wrapper still waited for the rest."""
    if not differ(case.gradients()):
        return None
    for rank, grads in case.reduced().items():
        wrap = case.wraps[rank]
        missing = [n for n, g in zip(wrap["names"], grads, strict=False) if g < 2 and n in wrap["trainable"]]
        if missing:
            text = f"since {missing[0]} had no part in the loss on rank {rank}, and the wrapper waited for its gradient"
            return "DDP109", text, [place_of(e) for r, e in case.all("backward") if r == rank][-1]
    return None


def otherwise(case: Case) -> Cause | None:
    """Ranks stepped with the same gradients."""
    if not any(case.gradients().values()) or differ(case.gradients()) or not case.is_update():
        return None
    first, *others = (numbers(case.run.ranks[rank], case, rank) for rank in case.ranks)
    for rank, other in zip(case.ranks[1:], others, strict=True):
        for mine, its in zip(first, other, strict=False):
            for key in mine:
                if mine[key] != its.get(key):
                    made = [e for e in case.run.of("optimizer")[rank] if e["optimizer"] == case.moment.key[1]]
                    text = f"since rank {case.ranks[0]} stepped with {key} {short(mine[key])}"
                    text = f"{text}, rank {rank} with {short(its.get(key))}"
                    at = place_of(made[0]) if made and case.moment.step == 1 else case.before.place()
                    return "DDP106", text, at
    states = {event.get("state") for event in case.before.events.values()}
    text = "what their optimizers remember" if len(states) > 1 else "what the step itself did"
    return "DDP106", f"though gradients were equal: it is {text} that differs", case.before.place()


def numbers(events: list[dict], case: Case, rank: int) -> list[dict]:
    """Return the numbers that an optimizer stepped with at the moment."""
    told = [e["hyper"] for e in events[: case.moment.at[rank]] if case.is_step(e) and "hyper" in e]
    return told[-1] if told else []


def short(value: object) -> str:
    """Return a number without the digits that rounding has left."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
