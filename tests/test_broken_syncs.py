"""Accumulation and clipping: the gradient of each way, and how often DDP averaged for it."""

import json

import pytest
import torch
from one_process import DATA, TOLERANCE, apart, one_gradient
from ranks import run_ranks
from slow import slow
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.workbench.broken import parts, syncs

ACCUMULATING = {  # each with the multiple of the right gradient, and the all-reduces
    syncs.sync_every_time: (1, 4), syncs.sync_at_the_end: (1, 1),
    syncs.no_sync_in_backward: (1, 4), syncs.not_divided: (4, 1),
}  # fmt: skip


def ways(rank, world_size):
    """What each way leaves on this rank, with the number of all-reduces; this rank's own gradient; and the table."""
    done = [*ACCUMULATING, *syncs.CLIPPING]
    left = {way.__name__: parts.gradient_of(way, parts.network(), parts.my_share(DATA)) for way in done}
    return left, syncs.lengths(DATA), syncs.measure(DATA)


def recorded(rank, world_size):
    """How many all-reduces PyTorch's own record has of each way of accumulating, run without our counting hook."""
    counts = []
    for way in ACCUMULATING:
        wrapped, share, before = DDP(parts.network()), parts.my_share(DATA), all_reduces_so_far()
        way(wrapped, *share)
        counts.append(all_reduces_so_far() - before)
    return counts


def all_reduces_so_far():
    record = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())
    return sum(entry["profiling_name"] == "gloo:all_reduce" for entry in record["entries"])


@pytest.fixture(scope="module", params=[2, slow(4)], ids="{} ranks".format)
def ranks(request):
    return run_ranks(request.param, ways)


@pytest.mark.parametrize("way", ACCUMULATING)
def test_accumulation(ranks, way):
    times, all_reduces = ACCUMULATING[way]
    for left, _, table in ranks:
        gradient, counted = left[way.__name__]
        assert apart(gradient, one_gradient() * times) < TOLERANCE
        assert counted == table[f"{way.__name__}, all-reduces"] == all_reduces
        assert table[way.__name__] == pytest.approx(times - 1, abs=TOLERANCE)


def by_length(gradient):
    """As `clip_grad_norm_` does it: a millionth is added to the length."""
    return gradient * min(1, syncs.LENGTH / (gradient.norm() + 1e-6))


def clipped_each_time(ranks, parts=4):
    """The average over ranks of what one alone has after clipping in each micro-batch but the last, clipped."""
    total = 0
    for rank in range(ranks):
        own = 0
        for part in range(parts):
            own = by_length(own) if part else own
            own = own + one_gradient(rank + ranks * part, 64, ranks * parts) / parts
        total = total + own / ranks
    return by_length(total)


def test_clipping_inside_no_sync_clips_each_rank_by_itself(ranks):
    wrong = clipped_each_time(len(ranks))
    for left, *_ in ranks:
        assert apart(left["clip_each_time"][0], wrong) < TOLERANCE
    right = by_length(one_gradient())
    assert apart(wrong, right) > 0.4
    assert apart(clipped_each_time(1), right) > 0.4


def test_clipping_after_the_last_backward_is_what_one_process_does(ranks):
    for left, *_ in ranks:
        assert apart(left["clip_at_the_end"][0], by_length(one_gradient())) < TOLERANCE


def test_hooks_clip_before_the_average(ranks):
    own = [one_gradient(rank, 64, len(ranks)) for rank in range(len(ranks))]
    wrong = sum(gradient.clamp(-syncs.VALUE, syncs.VALUE) for gradient in own) / len(ranks)
    right = one_gradient().clamp(-syncs.VALUE, syncs.VALUE)
    for left, *_ in ranks:
        assert apart(left["clip_in_hooks"][0], wrong) < TOLERANCE
        assert apart(left["clip_after_backward"][0], right) < TOLERANCE
    assert apart(wrong, right) > 0.2


def test_lengths(ranks):
    for rank, (_, (own, average), _) in enumerate(ranks):
        assert own == pytest.approx(one_gradient(rank, 64, len(ranks)).norm().item(), rel=TOLERANCE)
        assert average == pytest.approx(one_gradient().norm().item(), rel=TOLERANCE)


def test_the_table_says_so(ranks):
    for *_, table in ranks:
        assert max(table["clip_at_the_end"], table["clip_after_backward"]) < TOLERANCE
        assert table["clip_each_time"] > 0.4 and table["clip_in_hooks"] > 0.2


def test_pytorchs_own_record_counts_the_same():
    for counts in run_ranks(2, recorded):
        assert counts == [all_reduces for _, all_reduces in ACCUMULATING.values()]
