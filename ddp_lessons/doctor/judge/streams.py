"""Random numbers that are the same on ranks: their augmentation, or their dropout, is then the same as well."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Finding, named, place_of
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.reads import Pass

NUMBERS, LOOKS = 4, 2  # fewer, drawn at once, may be a choice that all ranks are to make alike; looks that prove it
DOING = {"fetch": "to load samples", "loop": "for batches", "forward": "in the model"}


def judge_streams(run: Run, all_passes: list[Pass]) -> Iterator[Finding]:
    """Yield each place where generators were seeded so that ranks draw the same numbers in training."""
    seen: dict[tuple, dict[tuple, dict[int, str]]] = {}  # (what, generator) → which look → rank → digest
    first: dict[tuple, dict] = {}
    names = {(one.rank, one.event["run"]): name(one, all_passes) for one in all_passes if one.phase == "train"}
    for rank, event in run.all("drew"):
        which, worker, count = event["key"]
        if which is not None and (rank, which) not in names:
            continue  # not for training
        for generator, (digest, numbers) in event["drawn"].items():
            if numbers >= NUMBERS:
                what = event["where"], generator
                first.setdefault(what, event)
                look = names.get((rank, which)), worker, count
                seen.setdefault(what, {}).setdefault(look, {})[rank] = digest
    found: dict[tuple | None, list] = {}
    for what, looks in seen.items():
        if ranks := alike(looks):
            found.setdefault(seeded(run, what[1], looks) or place_of(first[what]), []).append((what, ranks, len(looks)))
    for where, whats in found.items():
        yield Finding("DDP207", words(whats), where)


def name(one: Pass, all_passes: list[Pass]) -> tuple:
    """Return a name for a pass that is the same on all ranks: its loader's line, and the how manieth it is."""
    mine = [p for p in all_passes if (p.rank, p.phase, p.loader.made) == (one.rank, one.phase, one.loader.made)]
    return one.loader.made, mine.index(one)


def alike(looks: dict[tuple, dict[int, str]]) -> list[int]:
    """Return the ranks whose generators stood the same, at most of the looks."""
    compared = [digests for digests in looks.values() if len(digests) > 1]
    same = [digests for digests in compared if len(set(digests.values())) < len(digests)]
    if len(same) < LOOKS or 2 * len(same) < len(compared):
        return []
    digests = same[0]
    return sorted(rank for rank, digest in digests.items() if list(digests.values()).count(digest) > 1)


def seeded(run: Run, generator: str, looks: dict) -> tuple | None:
    """Return the last line that seeded a generator; those of a loader's workers are seeded by torch's."""
    generator = "torch" if all(worker is not None for _, worker, _ in looks) else generator
    places = [place_of(event) for _, event in run.all("seeded") if event["generator"] == generator]
    return places[-1] if places else None



def words(whats: list[tuple[tuple[str, str], list[int], int]]) -> str:
    """Say who draws the same numbers, from what, and to what end."""
    generators = " and ".join(sorted({f"{generator}'s" for (_, generator), *_ in whats}))
    ends = " and ".join(DOING[where] for where in DOING if any(what[0] == where for what, *_ in whats))
    _, ranks, looks = whats[0]
    text = f"{named(ranks)} draw the same random numbers {ends}, from {generators} generator"
    return f"{text}, at {looks} batches looked at"
