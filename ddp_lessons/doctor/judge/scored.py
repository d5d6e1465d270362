"""What is held out: whether the ranks agree on it, whether it is trained on, and whether it is scored twice."""

from collections import Counter
from collections.abc import Iterator

from ddp_lessons.doctor.finding import Finding, named
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.reads import Groups, Pass, pairs
from ddp_lessons.doctor.judge.same_samples import ENOUGH, MOST, same_content

FEW = 4  # samples: fewer prove nothing


def listed(samples: set) -> str:
    """Return the first few of some samples, as text."""
    first = ", ".join(map(str, sorted(samples)[:3]))
    return first + ", …" if len(samples) > 3 else first


def judge_scores(run: Run, groups: Groups) -> Iterator[Finding]:
    """Yield each loader that is shared out among ranks for scoring, and gives samples to more than one."""
    for (made, _), group in groups.items():
        for passes in zip(*group.values(), strict=False) if len(group) == len(run.ranks) > 1 else ():
            shares = [set(one.samples) for one in passes]
            union, total = set().union(*shares), sum(map(len, shares))
            shared_out = all(share < union for share in shares)
            if shared_out and len(union) >= FEW and all(one.complete for one in passes):
                place = made if isinstance(made, tuple) else passes[0].place
                if total > len(union):
                    dropped = any(is_gathered(run, one) for one in passes)
                    yield Finding("DDP204", twice(shares, union, total), place, "note" if dropped else "")
                elif passes[0].loader.replicas and not passes[0].loader.even:
                    text = f"on a number of ranks that does not divide {len(union)} samples, the sampler repeats some"
                    yield Finding("DDP204", text, place, "note")
                break


def is_gathered(run: Run, one: Pass) -> bool:
    """Tell whether what a rank scores is gathered, and not summed: then repeats may be dropped from it."""
    first, last = one.batches[0]["at"], one.batches[-1]["at"]
    calls = [event for event in run.of("call")[one.rank] if event["at"] > first and event["name"] != "wait"]
    inside = [event for event in calls if event["at"] < last]
    return any("gather" in event["name"] for event in inside + calls[len(inside) : len(inside) + 1])


def twice(shares: list[set], union: set, total: int) -> str:
    """Say which samples are in more than one share."""
    again = {sample for sample in union if sum(sample in share for share in shares) > 1}
    are = f"{listed(again)} {'is' if len(again) == 1 else 'are'} scored on more than one rank"
    return f"the ranks together score {total} samples, of which {len(union)} are different: {are}"


def judge_split(groups: Groups, all_passes: list[Pass]) -> Iterator[Finding]:
    """Yield each training loader whose part of the data is drawn by lot, and not the same on all ranks."""
    for (_, root), group in groups.items():
        for one, other in pairs(group) if root is not None else ():
            mine, theirs = set(one.loader.contents or ()), set(other.loader.contents or ())
            if drawn_apart(mine, theirs):
                scored = [p for p in all_passes if (p.phase, p.loader.root, p.era) == ("score", root, one.era)]
                yield split_words(one, other, mine, theirs, scored)
                break


def drawn_apart(mine: set, theirs: set) -> bool:
    """Tell whether two parts are neither the same, nor apart, nor one within the other."""
    both = len(mine & theirs)
    return both >= FEW and min(len(mine - theirs), len(theirs - mine)) > 1 and both > 0.2 * min(len(mine), len(theirs))


def split_words(one: Pass, other: Pass, mine: set, theirs: set, scored: list[Pass]) -> Finding:
    """Return how two ranks' parts differ: a fault if one scores what the other trains on."""
    text = f"{named([one.rank, other.rank])} split the data in different ways: {len(mine - theirs)} of the "
    text += f"{len(mine)} training samples on rank {one.rank} are held out on rank {other.rank}"
    for rank, trained in ((one.rank, set(one.samples)), (other.rank, set(other.samples))):
        for score in scored:
            leaked = trained & set(score.samples)
            if score.rank != rank and len(leaked) > 1:
                text += f", and {len(leaked)} that rank {score.rank} scores were trained on by rank {rank}"
                return Finding("DDP205", text, one.loader.origin)
    return Finding("DDP205", text, one.loader.origin, "suspect")


def judge_held_out(all_passes: list[Pass]) -> Iterator[Finding]:
    """Yield each loader that scores samples which are trained on, though it is not for the training samples' score."""
    told = set()
    for passes in rounds(all_passes):
        root, era = passes[0].loader.root, passes[0].era
        training = [one for one in all_passes if (one.phase, one.loader.root, one.era) == ("train", root, era)]
        learned = set().union(*(one.samples for one in training))
        scored = set().union(*(one.samples for one in passes))
        planned = set().union(*(one.loader.contents or () for one in training))
        leaked = scored & learned
        whole = not planned - scored or not learned - scored  # the training samples' own score
        if len(leaked) < FEW or whole or not any(same_content(one, passes[0]) for one in training):
            continue
        apart = scored - planned
        clean = [p for p in all_passes if p.phase == "score" and p.samples]
        clean = [p for p in clean if p.loader.root != root or not learned.intersection(p.samples)]
        if (apart or not clean) and passes[0].loader.origin not in told:
            told.add(passes[0].loader.origin)
            text = f"{len(leaked)} of the {len(scored)} samples that are scored are trained on too: {listed(leaked)}"
            yield Finding("DDP206", text, passes[0].loader.origin, "" if apart else "suspect")


def judge_copies(all_passes: list[Pass]) -> Iterator[Finding]:
    """Yield each loader that scores what is trained on too, where both are in data sets of their own: by content."""
    told = set()
    for passes in rounds(all_passes):
        root, era, origin = passes[0].loader.root, passes[0].era, passes[0].loader.origin
        models = [one for one in all_passes if one.era == era > 0 and one.rows]
        training = [one for one in models if one.phase == "train" and one.loader.root != root]
        learned, scored = contents(training), contents(passes)
        leaked = scored & learned
        known = len(leaked) >= max(ENOUGH, MOST * len(scored)) and 2 * len(scored) > len(samples(passes))
        clean = any(one.phase == "score" and not learned & contents([one]) for one in models)
        if known and not clean and held(passes) < MOST * held(training) and origin not in told:
            told.add(origin)
            text = f"of {len(scored)} samples that are scored, {len(leaked)} are the same, number for number, as some "
            yield Finding("DDP206", text + "that are trained on, of another data set", origin, "suspect")


def contents(passes: list[Pass]) -> set[tuple]:
    """Return the keys of all rows that passes read."""
    return {keys for one in passes for keys in one.keys.values()}


def samples(passes: list[Pass]) -> set[int]:
    """Return the samples that passes read."""
    return set().union(*(one.samples for one in passes))


def held(passes: list[Pass]) -> int:
    """Return how many samples are in the data sets of passes."""
    parts: dict[object, set] = {}
    for one in passes:
        parts.setdefault(one.loader.root, set()).update(one.loader.contents or ())
    return sum(map(len, parts.values()))


def rounds(all_passes: list[Pass]) -> list[list[Pass]]:
    """Return the passes that score, those together that ranks make at the same time through the same loader."""
    found: dict[tuple, list[Pass]] = {}
    counts: Counter = Counter()
    for one in all_passes:
        if one.phase == "score" and one.samples and one.loader.root is not None:
            line = one.loader.made, one.loader.root, one.era
            counts[one.rank, line] += 1
            found.setdefault((line, counts[one.rank, line]), []).append(one)
    return list(found.values())
