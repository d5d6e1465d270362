"""The doctor on how scripts are launched, and how they end; and on their sound look-alikes."""

import pytest
from examined import PATIENTS, cases, examined, hears_what_it_should

from ddp_lessons.doctor import hang
from ddp_lessons.doctor.judge import findings

FOLDER = PATIENTS / "launch"


@pytest.fixture(autouse=True)
def hangs_are_seen_soon(monkeypatch):
    monkeypatch.setattr(hang, "STILL", 1.5)
    monkeypatch.setattr(hang, "LONG", 5)


@pytest.mark.parametrize("script", cases(FOLDER))
def test_it_hears_what_its_comments_say(script):
    hears_what_it_should(script)


@pytest.mark.slow
def test_it_says_that_ranks_never_met():
    (found,) = findings(examined(PATIENTS / "launch" / "host_and_port_at_once.py"))
    assert "MASTER_PORT is set to 29871" in found.text and found.text.endswith("for this the ranks never met")
