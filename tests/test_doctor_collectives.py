"""The doctor on scripts whose calls among ranks do not match, and on their sound look-alikes."""

import pytest
from examined import PATIENTS, cases, examined, hears_what_it_should
from slow import slow

from ddp_lessons.doctor import hang
from ddp_lessons.doctor.judge import findings

FOLDER = PATIENTS / "collectives"


@pytest.fixture(autouse=True)
def hangs_are_seen_soon(monkeypatch):
    monkeypatch.setattr(hang, "STILL", 1.5)
    monkeypatch.setattr(hang, "LONG", 5)


@pytest.mark.parametrize("ranks", [3, slow(2)])
@pytest.mark.parametrize("script", cases(FOLDER))
def test_it_hears_what_its_comments_say(script, ranks):
    hears_what_it_should(script, ranks)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("shapes_differ.py", ["ranks 0 and 1: all_gather of int64 [4]", "rank 2: all_gather of int64 [1]"]),
        ("types_differ.py", ["rank 0: all_reduce of int64 [4]", "ranks 1 and 2: all_reduce of float64 [4]"]),
        ("two_roots.py", ["rank 0: broadcast", "src 0", "src 1", "src 2"]),
        ("ends_early.py", ["rank 2 ended at line 13", "ranks 0 and 1 wait in all_reduce of int64 [] (line 16)"]),
        ("swapped_by_set.py", ["rank 0 sends for name = hits meets what rank 1 sends for name = tokens"]),
        ("swapped_parameters.py", ["rank 0 sends for parameter = 0 meets what rank 1 sends for parameter = 1"]),
        ("swapped_lines.py", ["rank 0 sends for line 9 meets what rank 1 sends for line 15"]),
        ("order_differs.py", ["rank 0: broadcast_object_list", "ranks 1 and 2: all_reduce of float32 [1]"]),
        ("all_send_first.py", ["which does not receive it", "rank 2 waits in send"]),
    ],
)
def test_it_says_which_rank_does_what(script, said):
    (finding,) = findings(examined(FOLDER / script, ranks=3))
    assert all(part in finding.text for part in said), finding.text
