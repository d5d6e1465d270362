"""Kind 2: what the ranks read: whether each sample is somebody's, and for what."""

import math
from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge.parallel import data_parallel
from ddp_lessons.doctor.judge.reads import Groups, Pass, grouped, passes, shuffled
from ddp_lessons.doctor.judge.same_samples import judge_calls, judge_ranks, judge_workers
from ddp_lessons.doctor.judge.scored import judge_copies, judge_held_out, judge_scores, judge_split
from ddp_lessons.doctor.judge.streams import judge_streams
from ddp_lessons.doctor.judge.turns import dealt
from ddp_lessons.doctor.judge.unread import judge_dealt, judge_empty, judge_unread

SAMPLER, SCORE, ANSWER = "lesson3_sampler", "lesson6_score_and_resume", "lesson5_same_answer"
CODES: dict[str, Code] = {
    "DDP201": Code(
        "fault", "ranks train on the same samples", "give each rank a share, as with a DistributedSampler", SAMPLER
    ),
    "DDP202": Code(
        "fault", "the order repeats", "call sampler.set_epoch(epoch) before each pass, or seed it anew", SAMPLER
    ),
    "DDP203": Code("fault", "samples are never read", "share the samples out once, among all ranks", SAMPLER),
    "DDP204": Code(
        "suspect", "samples are scored twice", "score Subset(data, range(rank, len(data), world_size))", SCORE
    ),
    "DDP205": Code(
        "fault", "the split differs between ranks", "split with a generator that is seeded alike on all ranks", SAMPLER
    ),
    "DDP206": Code("fault", "scored samples are trained on", "take them out of the training samples", SAMPLER),
    "DDP207": Code(
        "suspect", "the same random numbers on ranks", "seed with seed + rank once the model is made", SCORE
    ),
    "DDP208": Code(
        "fault", "workers read the same samples", "share the samples out by torch.utils.data.get_worker_info()", SAMPLER
    ),
}
CHANCE = 1e-4  # that orders drawn anew are the same


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found."""
    if any(one.code == "DDP606" for one in run.found):
        return  # each rank is alone, and that it reads everything is a consequence
    read = passes(run)
    train, score, ranks = grouped(read, "train"), grouped(read, "score"), len(run.ranks)
    shared = data_parallel(run)
    split = list(judge_split(train, read)) if shared else []
    own = dealt(run, train)
    same = list(judge_ranks(run, own)) if shared and not split else []
    yield from split or same
    yield from judge_calls(run) if shared and not split and not same else ()
    yield from judge_workers(train)
    yield from judge_order(train)
    yield from judge_replay(run, train)
    yield from () if split or same else judge_unread(train, read, ranks)
    yield from () if split or same else judge_dealt(own, read, ranks)
    yield from judge_empty(read, ranks)
    yield from () if split else judge_held_out(read)
    yield from () if split else judge_copies(read)
    yield from () if split else judge_scores(run, {key: score[key] for key in score if key not in train})
    yield from judge_streams(run, read) if shared else ()


def judge_order(groups: Groups) -> Iterator[Finding]:
    """Yield each training loader whose order, drawn by lot, comes again."""
    for group in groups.values():
        for rank, seen in sorted(group.items()):
            ours = [one for one in seen if "train" in one.marks]  # a look at the first batch is no pass
            again = [one for number, one in enumerate(ours) if any(comes_again(one, early) for early in ours[:number])]
            if again and 2 * len(again) >= len(ours) - 1 and certain(again):
                times = sum(comes_again(one, again[0]) for one in ours)
                text = f"rank {rank} reads {len(again[0].order)} samples in the same order in {times} passes: "
                yield Finding("DDP202", text + f"{', '.join(map(str, again[0].order[:4]))}, …", again[0].place)
                break


def judge_replay(run: Run, groups: Groups) -> Iterator[Finding]:
    """Yield each training loader whose batches are kept, and given to the model once more in the same order."""
    calls = run.of("rows")
    for group in groups.values():
        for rank, ours in sorted(group.items()):
            first = ours[0].rows
            rows = [key for event in calls[rank] for key in event["keys"]] if first else []
            at = rows.index(first[0]) if first and first[0] in rows else len(rows)
            again = first and rows[at : at + len(first)] == first
            if again and len(ours) == 1 and shuffled(ours[0].order) and certain(ours):
                text = f"rank {rank} keeps the {len(first)} samples of a pass, and goes through them in the same order"
                yield Finding("DDP202", text + " again", tuple(calls[rank][0]["place"] or ours[0].place))
                break


def comes_again(one: Pass, early: Pass) -> bool:
    """Tell whether a pass has the order of an earlier one, drawn by lot, as far as both go, and for the same model."""
    both = min(len(one.order), len(early.order))
    same = one.order[:both] == early.order[:both] and one.samples[:both] == early.samples[:both]
    return same and one.era == early.era and shuffled(one.order) and shuffled(early.order)


def certain(again: list[Pass]) -> bool:
    """Tell whether it is no chance that passes had the order of earlier ones."""
    return sum(math.lgamma(len(set(one.order)) + 1) for one in again) > -math.log(CHANCE)
