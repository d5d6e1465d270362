"""Whether ranks, or the workers of a loader, read the same samples: by their indices, or else by what is in them."""

from collections.abc import Callable, Iterator, Sequence

from ddp_lessons.doctor.finding import Finding, named
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.parallel import together
from ddp_lessons.doctor.judge.reads import Groups, Loader, Pass, pairs

FEW, ENOUGH, MANY = 4, 12, 32  # samples: fewer prove nothing; as many do; do so even if they come again
SPARE = 8  # samples that may be the same by chance
MOST = 0.9  # of the samples
WHOLE = ("RandomSampler", "SubsetRandomSampler")  # which give all they have


def window(samples: Sequence) -> set:
    """Return the samples up to the first that comes again: those of one going through the data."""
    seen: set = set()
    for sample in samples:
        if sample in seen:
            break
        seen.add(sample)
    return seen


def in_step(mine: Sequence, theirs: Sequence) -> int:
    """Return how many samples two ranks read at the same time; 0 if they mostly differ."""
    both = min(len(mine), len(theirs))
    same = [one for one, other in zip(mine, theirs, strict=False) if one == other]
    return len(same) if len(set(same)) >= FEW and len(same) >= MOST * both else 0


def by_index(mine: Pass, theirs: Pass, ranks: int) -> tuple[str, str]:
    """Return how far two passes through the same data read the same samples, as (grade, words); ("", "") if not."""
    one, other = mine.samples, theirs.samples
    if not (one and other and same_content(mine, theirs)):
        return "", ""
    if count := in_step(one, other):
        return "fault", f"the same {count} samples in the same order"
    first, second = window(one), window(other)
    both, least = len(first & second), min(len(first), len(second))
    once = len(first) >= len(one) - ranks and len(second) >= len(other) - ranks
    if both >= MOST * least and (least >= ENOUGH or (once and least >= FEW)):
        return "fault", f"the same {both} samples, each in an order of its own"
    if mine.dealt and theirs.dealt:
        apart = once and not mine.loader.again and both > ranks + SPARE
        words = f"{both} of the same samples: they take turns at the batches, but each has an order of its own"
        return ("fault", words) if apart else ("", "")
    size = mine.loader.size or 1
    if once and whole(mine.loader) and whole(theirs.loader) and not (mine.complete and theirs.complete):
        return "suspect", f"{both} of the same samples so far: the sampler of each goes through all {size}"
    if both > ranks + SPARE and both > 2 * least**2 / size + SPARE:
        return "fault", f"{both} of the same samples"
    return "", ""


def whole(loader: Loader) -> bool:
    """Tell whether a loader hands out all that is in its data set, in an order drawn by lot."""
    all_of_it = loader.given is not None and loader.size and loader.given >= MOST * loader.size
    return bool(all_of_it and loader.sampler in WHOLE and not loader.again and loader.size > SPARE)


def same_content(mine: Pass, theirs: Pass) -> bool:
    """Tell whether what two ranks read under the same indices may be the same: one tensor at least says so."""
    common = mine.keys.keys() & theirs.keys.keys()
    if len(common) < FEW or "random" in mine.marks & theirs.marks:
        return True
    tensors = zip(*[zip(mine.keys[sample], theirs.keys[sample], strict=False) for sample in common], strict=False)
    return any(telling(list(rows)) for rows in tensors)


def telling(rows: list[tuple[int, int]]) -> bool:
    """Tell whether pairs of keys are the same, and not for the reason that all are."""
    return sum(one == other for one, other in rows) >= MOST * len(rows) and len({one for one, _ in rows}) > 1


def by_content(mine: Sequence, theirs: Sequence, ranks: int) -> tuple[str, str]:
    """Return how far two ranks read rows with the same content, as (grade, words)."""
    if count := in_step(mine, theirs):
        return "fault", f"the same {count} samples in the same order"
    first, second = window(mine), window(theirs)
    both, least = len(first & second), min(len(first), len(second))
    once = len(first) == len(mine) and len(second) == len(theirs)
    if least < (ENOUGH if once else MANY):
        return "", ""
    if both >= MOST * least:
        return "fault", f"the same {both} samples, each in an order of its own"
    both -= sum(one == other for one, other in zip(mine[: len(first)], theirs[: len(second)], strict=False))
    return ("suspect", f"{both} of the same samples") if both > ranks + SPARE else ("", "")


def judge_ranks(run: Run, groups: Groups) -> Iterator[Finding]:
    """Yield each training loader that gives ranks the same samples."""
    by_line: Groups = {}
    for (made, root), all_of_it in groups.items():
        group = {rank: passes for rank, passes in all_of_it.items() if not is_cut(run, rank)}
        if root is not None:
            yield from worst(run, made, group, by_index)
        if root is None or len(group) < len(run.ranks):  # ranks that hold different data
            for rank, passes in group.items():
                by_line.setdefault((made, None), {}).setdefault(rank, []).extend(passes)
    for (made, _), group in by_line.items():
        yield from worst(run, made, group, lambda one, other, ranks: by_content(one.rows, other.rows, ranks))


def is_cut(run: Run, rank: int) -> bool:
    """Tell whether a rank's model gets parts of what its loader hands out: then those are compared."""
    cut = sum(event["cut"] for event in run.of("rows")[rank])
    return 2 * cut > sum(event["grad"] for event in run.of("forward")[rank])


def worst(run: Run, made: object, group: dict[int, list[Pass]], compare: Callable) -> Iterator[Finding]:
    """Yield what is gravest among pairs of ranks, once."""
    two = [(one, other) for one, other in pairs(group) if together(run, one.rank, other.rank)]
    seen = [(one, other, compare(one, other, len(run.ranks))) for one, other in two]
    for name in ("fault", "suspect"):
        found = [(one, other, words) for one, other, (grade, words) in seen if grade == name]
        if found:
            ranks = sorted({one.rank for pair in found for one in pair[:2]})
            one, _, words = found[0]
            text = f"{named(ranks)} train on {words}, in a pass of {len(one.order) or len(one.rows)} on each rank"
            yield Finding("DDP201", text, made if isinstance(made, tuple) else one.place, name)
            return



def judge_calls(run: Run) -> Iterator[Finding]:
    """Yield each model that ranks call, in training, with the same samples, which come from no loader."""
    calls: dict[object, dict[int, list[dict]]] = {}
    for rank, event in run.all("rows"):
        calls.setdefault(event["model"], {}).setdefault(rank, []).append(event)
    for by_rank in calls.values():
        rows = {rank: [key for event in events for key in event["keys"]] for rank, events in by_rank.items()}
        seen = []
        for one in sorted(by_rank):
            for other in [rank for rank in sorted(by_rank) if rank > one and together(run, one, rank)]:
                grade, words = by_content(rows[one], rows[other], len(run.ranks))
                seen += [(grade, words, one, other)] if grade else []
        for grade, words, one, other in sorted(seen)[:1]:  # a fault comes before a suspect
            ranks = sorted({rank for found in seen for rank in found[2:]}) if len(seen) > 1 else [one, other]
            place = by_rank[one][0]["place"]
            text = f"{named(ranks)} call the model with {words}, in {len(by_rank[one])} calls on rank {one}"
            yield Finding("DDP201", text, tuple(place) if place else None, grade)


def judge_workers(groups: Groups) -> Iterator[Finding]:
    """Yield each loader whose workers hand out the same samples: each goes through all of an iterable data set."""
    for (made, _), group in groups.items():
        for one in [one for _, passes in sorted(group.items()) for one in passes]:
            if one.loader.iterable and (one.loader.workers or 0) > 1 and (words := twice(one, one.loader.workers)):
                text = f"on rank {one.rank} the {one.loader.workers} workers of a loader hand out {words}"
                yield Finding("DDP208", text, made if isinstance(made, tuple) else None)
                break


def twice(one: Pass, workers: int) -> str:
    """Say which samples two workers of a pass hand out, which take turns; "" if none."""
    keys = [batch["keys"][0] if batch.get("keys") else [] for batch in one.batches]
    first, second = ([row for batch in keys[worker::workers] for row in batch] for worker in (0, 1))
    return by_content(first, second, workers)[1]
