"""Weights that are saved under the wrapper's names, or of which none is loaded; files that may run code."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding, place_of
from ddp_lessons.doctor.journal import Run

PREFIX = "module."
BARE = "save the weights of model.module, whose names any model knows"
CODES = {
    "DDP503": Code("suspect", "the wrapper's weights are saved", BARE, "lesson4_ddp"),
    "DDP504": Code("fault", "nothing was loaded", f"{BARE}, and load without strict=False", "lesson4_ddp"),
    "DDP505": Code("suspect", "torch.load may run code", "load with weights_only=True", "lesson6_score_and_resume"),
}


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found."""
    lost = list(dict.fromkeys([*left_out(run), *not_found(run)]))
    yield from {one.place: one for one in reversed(lost)}.values()
    if not lost:
        yield from wrapped(run)
    for place in places(event for _, event in run.all("load") if not event["safe"]):
        yield Finding("DDP505", "a file is loaded in the way that runs what code may be in it", place)


def places(events: Iterator[dict]) -> list[tuple | None]:
    """Return the places of events, each once."""
    return list(dict.fromkeys(place_of(event) for event in events))


def left_out(run: Run) -> Iterator[Finding]:
    """Yield a finding where weights are put into a model and none of them fits."""
    ends = dict(run.all("end"))
    for rank, events in run.of("weights").items():
        for number, event in enumerate(events):
            if not event["given"] or not event["own"] or event["taken"]:
                continue
            later = [other for other in events[number:] if other["model"] == event["model"]]
            prefix = event["given_key"].startswith(PREFIX) != event["own_key"].startswith(PREFIX)
            ended = ends.get(rank, {}).get("place") == event["place"] and prefix
            if ended if event["failed"] else not any(whole(other) for other in later):
                names = f"the first is {event['given_key']}, and its own is {event['own_key']}"
                text = f"none of {event['given']} weights went into {event['model']}: {names}"
                yield Finding("DDP504", text, place_of(event))


def not_found(run: Run) -> Iterator[Finding]:
    """Yield a finding where a rank failed to find a weight that was loaded, but for its prefix."""
    loaded = {name for _, event in run.all("load") for name in event["keys"]}
    for _, end in run.all("end"):
        kind, _, name = str(end.get("error")).partition(": ")
        name = name.strip("'\"")
        other = name.removeprefix(PREFIX) if name.startswith(PREFIX) else PREFIX + name
        if kind == "KeyError" and other in loaded:
            text = f"{name} was looked for in what was loaded, where it is called {other}"
            yield Finding("DDP504", text, place_of(end))


def wrapped(run: Run) -> Iterator[Finding]:
    """Yield a finding for each line that saves under the wrapper's names, unless the run loads them again."""
    loads = [event for _, event in run.all("load")]
    back = [event for _, event in run.all("weights") if whole(event)]
    if any(event["wrapper"] and event["given_key"].startswith(PREFIX) for event in back):
        return
    for _, save in run.all("save"):
        again = [load for load in loads if load["path"] == save["path"] and load["at"] > save["at"]]
        if not (again and any(event["at"] > again[0]["at"] for event in back)):
            what = (
                f"the wrapper's weights are saved, as {save['key']}" if save["key"] else "the wrapper itself is saved"
            )
            grade = "note" if save["resume"] else ""  # with an optimizer beside it, the wrapper may read it again
            text = f"{what}: a bare model will not know it"
            yield Finding("DDP503", text, place_of(save), grade)


def whole(event: dict) -> bool:
    """Tell whether a model got all its weights."""
    return not event["failed"] and event["own"] and event["taken"] == event["own"]
