"""The doctor on what ranks read: scripts with a fault in it, and their sound look-alikes."""

from collections import Counter

import pytest
from examined import PATIENTS, cases, examined, hears_what_it_should
from torch.utils.data import DistributedSampler

from ddp_lessons.doctor.judge import findings, grade

FOLDER = PATIENTS / "data"


@pytest.mark.parametrize("script", cases(FOLDER))
def test_it_hears_what_its_comments_say(script):
    hears_what_it_should(script)


def sentences(name: str, ranks: int = 2, limit: int | None = None) -> list[str]:
    """Return what is said of a script."""
    return [one.text for one in findings(examined(PATIENTS / "data" / f"{name}.py", ranks=ranks, limit=limit))]


def test_who_read_the_same_and_how_many_is_said():
    (text,) = sentences("same_no_sampler", ranks=3)
    assert "ranks 0, 1 and 2" in text and "48 samples in the same order" in text


def test_ranks_that_go_through_everything_are_found_before_a_pass_is_over():
    (text,) = sentences("same_own_order", limit=4)
    assert "the sampler of each goes through all 40" in text


def test_what_a_sampler_repeats_is_counted_as_it_is_by_the_sampler():
    shares = [list(DistributedSampler(range(21), 2, rank, shuffle=False)) for rank in range(2)]
    together = Counter(shares[0] + shares[1])
    (again,) = [sample for sample, count in together.items() if count > 1]
    (text,) = sentences("scored_padded")
    assert f"score {together.total()} samples, of which 21 are different: {again} is scored" in text


def test_a_sampler_that_pads_on_other_numbers_of_ranks_is_a_note():
    found = findings(examined(PATIENTS / "data" / "scored_padded.py", ranks=3))
    assert [(one.code, grade(one)) for one in found] == [("DDP204", "note")]


def test_what_is_left_out_is_counted():
    (text,) = sentences("unread_shared_twice", ranks=4)
    assert "of 96 samples no rank reads 72" in text and "takes one in 4" in text


def test_the_order_that_comes_again_is_shown():
    order = list(DistributedSampler(range(64), 2, 0))
    (text,) = sentences("order_no_set_epoch")
    assert f"32 samples in the same order in 3 passes: {', '.join(map(str, order[:4]))}" in text


def test_a_run_cut_short_proves_nothing_of_what_it_has_not_read():
    for name in ("unread_shared_twice", "scored_padded", "held_out_read", "order_no_set_epoch"):
        assert sentences(name, limit=3) == []


def test_a_seed_that_all_ranks_share_is_named_with_what_is_drawn():
    assert "in the model, from torch's generator" in sentences("stream_dropout", ranks=3)[0]
    assert "to load samples, from numpy's generator" in sentences("stream_numpy")[0]
    assert "to load samples, from Python's generator" in sentences("stream_workers")[0]
