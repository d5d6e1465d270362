"""The doctor on scripts in which some ranks do alone what all have to do, and on their sound look-alikes."""

import pytest
from examined import PATIENTS, cases, examined, hears_what_it_should
from slow import slow

from ddp_lessons.doctor import hang
from ddp_lessons.doctor.judge import findings

FOLDER = PATIENTS / "one_rank"


@pytest.fixture(autouse=True)
def hangs_are_seen_soon(monkeypatch):
    monkeypatch.setattr(hang, "STILL", 1.5)


@pytest.mark.parametrize("ranks", [3, slow(2)])
@pytest.mark.parametrize("script", cases(FOLDER))
def test_it_hears_what_its_comments_say(script, ranks):
    hears_what_it_should(script, ranks)


def told(script, ranks):
    """Return the one sentence of this kind that a script hears."""
    run = examined(FOLDER / script, ranks=ranks)
    (finding,) = [one for one in findings(run) if one.code.startswith("DDP4")]
    return finding.text


def test_it_says_which_ranks_and_how_often():
    assert told("stops_alone.py", 3).startswith("rank 0 left the loop after 3 times backward (line 16), while ranks 1")
    assert told("uneven_shares.py", 3).startswith("ranks 1 and 2 left the loop after 2 times backward (line 13)")
    assert told("barrier_in_if.py", 3).startswith("rank 0 alone runs barrier (line 10), while ranks 1 and 2 are in")
    assert "rank 2 left out backward (line 19), in which ranks 0 and 1 wait" in told("skips_backward.py", 3)


def test_a_wrapper_without_buffers_that_one_rank_evaluates_is_a_note(tmp_path):
    script = tmp_path / "no_buffers.py"
    script.write_text((FOLDER / "rank_0_evaluates.py").read_text().replace("BatchNorm1d(8)", "ReLU()"))
    (finding,) = findings(run := examined(script, ranks=3))
    assert (finding.code, finding.place[1]) == ("DDP402", 12) and "rank 0 alone" in finding.text and not run.hang
