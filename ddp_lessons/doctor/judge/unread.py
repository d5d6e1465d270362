"""Samples that nobody reads, though a loader's data set has them."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Finding
from ddp_lessons.doctor.judge.reads import Groups, Pass
from ddp_lessons.doctor.judge.scored import listed


def judge_unread(groups: Groups, all_passes: list[Pass], ranks: int) -> Iterator[Finding]:
    """Yield each training loader that, in all its whole passes, leaves out more than the rest of a division."""
    for (made, root), group in groups.items():
        rounds = list(zip(*group.values(), strict=False)) if len(group) == ranks and root is not None else []
        whole = [passes for passes in rounds if all(one.complete and one.samples for one in passes)]
        missing = [missed(passes) for passes in whole]
        if not whole or not all(len(one) > spare(passes) for one, passes in zip(missing, whole, strict=True)):
            continue
        ours = {id(one) for passes in rounds for one in passes}
        others = [one.samples for one in all_passes if one.loader.root == root and id(one) not in ours]
        left = missing[0].difference(*others)
        if len(left) > spare(whole[0]) and (why := proof(whole[0], left)):
            samples = len(left | set().union(*(one.samples for one in whole[0])))
            text = f"of {samples} samples no rank reads {len(left)} in a pass, {listed(left)} {why}"
            yield Finding("DDP203", text, made if isinstance(made, tuple) else whole[0][0].place)


def judge_dealt(groups: Groups, all_passes: list[Pass], ranks: int) -> Iterator[Finding]:
    """Yield each training loader that gives each rank a share already, and whose batches ranks then take turns at."""
    for (_, root), group in groups.items():
        rounds = list(zip(*group.values(), strict=False)) if len(group) == ranks and root is not None else []
        whole = [passes for passes in rounds if all(one.dealt and one.complete and one.samples for one in passes)]
        ours = {(one.rank, one.event["run"]) for passes in rounds for one in passes}
        all_of_root = {(one.rank, one.event["run"]): one for one in all_passes if one.loader.root == root}
        read = {key: set(one.samples) for key, one in all_of_root.items() if key in ours}
        others = [one.samples for key, one in all_of_root.items() if key not in ours and one.phase == "train"]
        gone = [skipped(passes, read).difference(*others) for passes in whole]
        if whole and all(len(left) > spare(passes) for left, passes in zip(gone, whole, strict=True)):
            trained = len(set().union(*(one.samples for one in whole[0])))
            text = f"of {len(gone[0]) + trained} samples that ranks read in a pass, {len(gone[0])} are not trained on, "
            text += f"{listed(gone[0])} among them: they skip each other's batches, and each has a share of its own"
            yield Finding("DDP203", text, whole[0][0].place)


def skipped(passes: tuple[Pass, ...], read: dict[tuple, set]) -> set:
    """Return the samples that ranks read in a pass and do not train on; none where some may come more than once."""
    if any(one.loader.again for one in passes):
        return set()
    seen = set().union(*(read[one.rank, one.event["run"]] for one in passes))
    return seen.difference(*(one.samples for one in passes))


def judge_empty(all_passes: list[Pass], ranks: int) -> Iterator[Finding]:
    """Yield each loader that hands out nothing at all on any rank, though its data set holds samples."""
    by_loader: dict[tuple, list[Pass]] = {}
    for one in all_passes:
        by_loader.setdefault((one.loader.made, one.loader.root), []).append(one)
    for passes in by_loader.values():
        nothing = all(one.complete and not one.batches and one.loader.size for one in passes)
        if nothing and len({one.rank for one in passes}) == ranks:
            loader = passes[0].loader
            text = f"no sample is ever read: of {loader.size}, {loader.given} are for each rank, and make no batch "
            yield Finding("DDP203", text + f"of {loader.batch}", loader.made or passes[0].place)


def missed(passes: tuple[Pass, ...]) -> set:
    """Return the samples that are in the ranks' data sets, and that none of them read."""
    held = set().union(*(one.loader.contents or () for one in passes))
    return held - set().union(*(one.samples for one in passes))


def spare(passes: tuple[Pass, ...]) -> int:
    """Return how many samples may be left out, since they make no whole batch on each rank."""
    batch = max((len(batch["indices"]) for one in passes for batch in one.batches), default=1)
    batch = 1 if passes[0].event.get("length") == 1 and passes[0].loader.batch is None else batch
    return len(passes) * batch - 1


def proof(passes: tuple[Pass, ...], left: set) -> str:
    """Say what shows that samples are not left out on purpose; "" if nothing does."""
    again = any(len(set(one.samples)) < len(one.samples) - 1 or one.loader.again for one in passes)
    if again:
        return ""
    parts = [set(one.loader.contents) for one in passes]
    private = sum(map(len, parts)) <= len(set().union(*parts)) + len(parts)
    shares = passes[0].loader.replicas
    if private and shares:
        return f"among them: each rank has a part of its own already, and its sampler takes one in {shares} of that"
    if shares:
        return f"among them: the sampler shares out among {shares}, and there are {len(passes)} ranks"
    if private:
        return "among them: each rank reads a part only of what it alone has"
    return "among them: the gaps are regular" if regular(passes, left) else ""


def regular(passes: tuple[Pass, ...], left: set) -> bool:
    """Tell whether what is left out is as a stride too long leaves it: every n-th samples, from the first on."""
    held = sorted(set().union(*(one.loader.contents or () for one in passes)))
    gone = [sample in left for sample in held]
    periods = range(len(passes) + 1, 4 * len(passes) + 1)
    return any(len(held) >= 3 * n and all(gone[i] == gone[i - n] for i in range(n, len(gone))) for n in periods)
