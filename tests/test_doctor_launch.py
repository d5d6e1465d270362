"""The doctor on how scripts are launched, and how they end; and on their sound look-alikes."""

import pytest
from examined import PATIENTS, examined, hears_what_it_should

from ddp_lessons.doctor.judge import findings

SCRIPTS = sorted((PATIENTS / "launch").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_hears_what_its_comments_say(script):
    hears_what_it_should(script)


def test_it_says_that_ranks_never_met():
    (found,) = findings(examined(PATIENTS / "launch" / "host_and_port_at_once.py"))
    assert "MASTER_PORT is set to 29871" in found.text and found.text.endswith("for this the ranks never met")
