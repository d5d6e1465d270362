"""What is held out: whether the ranks agree on it, whether it is trained on, and whether it is scored twice."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Finding
from ddp_lessons.doctor.judge.reads import Groups, Pass
from ddp_lessons.doctor.judge.same_samples import named, same_content

FEW = 4  # samples: fewer prove nothing


def listed(samples: set) -> str:
    """Return the first few of some samples, as text."""
    first = ", ".join(map(str, sorted(samples)[:3]))
    return first + ", …" if len(samples) > 3 else first


def judge_scores(groups: Groups, ranks: int) -> Iterator[Finding]:
    """Yield each loader that is shared out among ranks for scoring, and gives samples to more than one."""
    for (made, _), group in groups.items():
        for passes in zip(*group.values(), strict=False) if len(group) == ranks > 1 else ():
            shares = [set(one.samples) for one in passes]
            union, total = set().union(*shares), sum(map(len, shares))
            shared_out = all(share < union for share in shares)
            if shared_out and total > len(union) >= FEW and all(one.complete for one in passes):
                again = {sample for sample in union if sum(sample in share for share in shares) > 1}
                text = (
                    f"the ranks together score {total} samples, of which {len(union)} are different: "
                    f"{listed(again)} {'is' if len(again) == 1 else 'are'} scored on more than one rank"
                )
                yield Finding("DDP204", text, made if isinstance(made, tuple) else passes[0].place)
                break


def judge_split(all_passes: list[Pass]) -> Iterator[Finding]:
    """Yield each training loader whose part of the data is drawn by lot, and not the same on all ranks."""
    train = [one for one in all_passes if one.phase == "train" and one.loader.contents is not None]
    for one, other in [(one, other) for one in train for other in train if one.rank < other.rank]:
        if one.loader.made == other.loader.made and one.loader.root == other.loader.root is not None:
            mine, theirs = set(one.loader.contents), set(other.loader.contents)
            if drawn_apart(mine, theirs):
                scored = [p for p in all_passes if p.phase == "score" and p.loader.root == one.loader.root]
                yield from split_words(one, other, mine, theirs, scored)


def drawn_apart(mine: set, theirs: set) -> bool:
    """Tell whether two parts are neither the same, nor apart, nor one within the other."""
    both = len(mine & theirs)
    return both >= FEW and min(len(mine - theirs), len(theirs - mine)) > 1 and both > 0.2 * min(len(mine), len(theirs))


def split_words(one: Pass, other: Pass, mine: set, theirs: set, scored: list[Pass]) -> Iterator[Finding]:
    """Yield how two ranks' parts differ: a fault if one scores what the other trains on."""
    text = f"{named([one.rank, other.rank])} split the data in different ways: {len(mine - theirs)} of the "
    text += f"{len(mine)} training samples on rank {one.rank} are held out on rank {other.rank}"
    for rank, trained in ((one.rank, set(one.samples)), (other.rank, set(other.samples))):
        for score in scored:
            leaked = trained & set(score.samples)
            if score.rank != rank and len(leaked) > 1:
                text += f", and {len(leaked)} that rank {score.rank} scores were trained on by rank {rank}"
                yield Finding("DDP205", text, one.loader.origin)
                return
    yield Finding("DDP205", text, one.loader.origin, "suspect")


def judge_held_out(all_passes: list[Pass]) -> Iterator[Finding]:
    """Yield each loader that scores samples which are trained on, though it is not for the training samples' score."""
    trained: dict[str, list[Pass]] = {}
    for one in all_passes:
        if one.phase == "train" and one.loader.root is not None:
            trained.setdefault(one.loader.root, []).append(one)
    for passes in by_line(all_passes):
        root = passes[0].loader.root
        training = trained.get(root, [])
        learned = set().union(*(one.samples for one in training))
        scored = set().union(*(one.samples for one in passes))
        leaked = scored & learned
        planned = set().union(*(one.loader.contents or () for one in training))
        whole = not planned - scored or not learned - scored  # the training samples' own score
        if len(leaked) < FEW or whole or not any(same_content(one, passes[0]) for one in training):
            continue
        apart = scored - planned
        others = [p for p in all_passes if p.phase == "score" and not set(p.samples) & learned and p.samples]
        if apart or not others:
            text = f"{len(leaked)} of the {len(scored)} samples that are scored are trained on too: {listed(leaked)}"
            yield Finding("DDP206", text, passes[0].loader.origin, "" if apart else "suspect")


def by_line(all_passes: list[Pass]) -> list[list[Pass]]:
    """Return the passes that score, by the line where their sampler was made, and the part of the data."""
    found: dict[tuple, list[Pass]] = {}
    for one in all_passes:
        if one.phase == "score" and one.samples and one.loader.root is not None:
            found.setdefault((one.loader.made, one.loader.root), []).append(one)
    return list(found.values())
