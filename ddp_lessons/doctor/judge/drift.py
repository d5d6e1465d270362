"""Kind 1: ranks drift apart: what they hold was equal, or should have been, and is so no longer."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding, named, place_of
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import alone
from ddp_lessons.doctor.judge.case import Case
from ddp_lessons.doctor.judge.causes import why
from ddp_lessons.doctor.judge.moments import Moment, apart, differ, of_model

LESSON, SCORE = "lesson5_same_answer", "lesson6_score_and_resume"
CODES = {
    "DDP100": Code("fault", "weights differ", "look at what ranks do otherwise before this line", LESSON),
    "DDP101": Code("fault", "the wrapper was passed by", "train through the wrapper, not its module", LESSON),
    "DDP102": Code(
        "fault", "a parameter was changed after wrapping", "freeze, unfreeze, add and replace first, then wrap", LESSON
    ),
    "DDP103": Code("fault", "no_sync is not left", "leave no_sync before the last forward of each step", LESSON),
    "DDP104": Code("fault", "gradients are not reduced", "get them by loss.backward() of the wrapper's output", LESSON),
    "DDP105": Code("fault", "gradients change after averaging", "do the same to gradients on all ranks", LESSON),
    "DDP106": Code("fault", "ranks step differently", "give the optimizer the same numbers on all ranks", LESSON),
    "DDP107": Code("fault", "weights are changed", "change weights before wrapping, or on all ranks alike", LESSON),
    "DDP108": Code("fault", "a rank leaves out a step", "decide on all ranks together whether to step", LESSON),
    "DDP109": Code(
        "fault", "parameters without a part", "give find_unused_parameters=True, or use them all in the loss", LESSON
    ),
    "DDP110": Code("note", "buffers differ", "use rank 0's, or average them, before you score", SCORE),
    "DDP111": Code("suspect", "a constant buffer differs", "make it the same on all ranks, before wrapping", LESSON),
    "DDP112": Code("note", "weights are averaged now and then", "be sure that it is meant, as in local SGD", LESSON),
} | alone.CODES


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found: for each wrapper the first difference, then what is trained in no wrapper."""
    for model in sorted({event["model"] for _, event in run.all("wrap")}):
        for wraps in groups(run, model):
            yield from weights(run, model, wraps)
            yield from buffers(run, model, wraps)
    yield from alone.judge(run)


def groups(run: Run, model: int) -> Iterator[dict[int, dict]]:
    """Yield for each group of ranks that share a wrapper their wrap events, by rank."""
    found: dict[str, dict[int, dict]] = {}
    for rank, event in run.all("wrap"):
        if event["model"] == model and "pid" not in event and rank in event["ranks"]:
            found.setdefault(str([event[key] for key in ("ranks", "names", "shapes")]), {})[rank] = event
    yield from (wraps for wraps in found.values() if len(wraps) > 1)


def weights(run: Run, model: int, wraps: dict[int, dict]) -> Iterator[Finding]:
    """Yield why a wrapper's parameters differ, if they do."""
    moments = [one for one in of_model(run, model, list(wraps)) if one.key[0] != "final" or all_came(run, one)]
    at = next((at for at, one in enumerate(moments) if one.differ()), None)
    if at is None or is_aftermath(run, moments, at):
        return
    now, name = moments[at], moments[at].differ()[0]
    about = f"{name} is not the same on {named(sorted(now.prints))} {when(now)}"
    if later := healed(moments[at:], name):
        if not any(event["name"] == "Join" for _, event in run.all("call")):  # in it, steps have other numbers
            yield Finding("DDP112", f"{about}, but is again {when(later)}", now.place())
        return
    code, because, at_line = why(Case(run, model, wraps, moments[at - 1] if at else None, now))
    earlier = any(one.code.startswith(("DDP3", "DDP4")) for one in run.found)
    if code == "DDP100" and earlier:
        return
    hooks = any(e["hooks"] for r, e in run.all("altered") if r in wraps and e["model"] == model)
    text = f"{about}, {because}{apart(run, name, sorted(now.prints), model=model)}"
    early = any(end["how"] == "limit" for _, end in run.all("end"))
    yield Finding(code, text, at_line, ("note" if early else "suspect") if hooks else "")  # weights may be averaged yet


def when(moment: Moment) -> str:
    """Say which moment it is."""
    what, _, number = moment.key
    if what == "forward":
        return f"at the forward after {number[0]} averaged backwards" if sum(number) > 1 else "at the first forward"
    known = {"step": "before step {}", "stepped": "after step {}", "wrap": "when wrapped", "final": "at the end"}
    return known[what].format(number + 1)


def healed(moments: list[Moment], name: str) -> Moment | None:
    """Return the first later moment at which a tensor is equal again on all ranks."""
    return next((one for one in moments if name in one.names() and name not in one.differ()), None)


def all_came(run: Run, final: Moment) -> bool:
    """Tell whether all ranks came to the end, by as many steps: else one of them may be a step ahead."""
    ends = {rank: [event for event in run.of("end")[rank]] for rank in final.prints}
    steps = {len(run.of("step")[rank]) for rank in final.prints}
    well = all(any(end["how"] in ("done", "limit", "exit") for end in ones) for ones in ends.values())
    return well and (len(steps) == 1 or all(end["how"] == "done" for ones in ends.values() for end in ones))


def is_aftermath(run: Run, moments: list[Moment], at: int) -> bool:
    """Tell whether ranks differ only at the end, by what one of them did when training was over."""
    if moments[at].key[0] != "final" or not at:
        return moments[at].key[0] == "final"
    trained = []
    for rank in moments[at].prints:
        events = run.ranks[rank][moments[at - 1].at.get(rank, 0) + 1 : moments[at].at[rank]]
        last = max((i for i, e in enumerate(events) if e["what"] in ("backward", "step", "grad")), default=-1)
        trained.append(last >= 0 and not any(e["what"] == "restored" for e in events[last:]))
    return not all(trained)


def buffers(run: Run, model: int, wraps: dict[int, dict]) -> Iterator[Finding]:
    """Yield that buffers differ: statistics that each rank keeps of its own samples, or constants."""
    names = next(iter(wraps.values()))["buffers"]
    seen = {rank: [e for e in run.of("forward")[rank] if e["model"] == model and "buffers" in e] for rank in wraps}
    told = set()
    for events in zip(*seen.values(), strict=False):
        prints = {rank: dict(zip(names, e["buffers"], strict=False)) for rank, e in zip(wraps, events, strict=True)}
        for name in differ(prints):
            still = all(is_constant(ones, names.index(name)) for ones in seen.values())
            code = "DDP111" if still and name not in next(iter(wraps.values()))["statistics"] else "DDP110"
            if code not in told:
                told.add(code)
                text = f"the buffer {name} is not the same on {named(sorted(wraps))}"
                yield Finding(code, f"{text}{apart(run, name, sorted(wraps), model=model)}", place_of(events[0]))


def is_constant(events: list[dict], index: int) -> bool:
    """Tell whether a buffer never changes on a rank."""
    return len(events) > 1 and len({event["buffers"][index] for event in events if index < len(event["buffers"])}) == 1
