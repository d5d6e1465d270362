"""The doctor on how scripts are launched, and how they end; and on their sound look-alikes."""

import pytest
from examined import PATIENTS, examined, expected, heard

SCRIPTS = sorted((PATIENTS / "launch").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_hears_what_its_comments_say(script):
    assert bool(expected(script)) is not script.stem.startswith("sound")
    assert heard(examined(script)) == expected(script)
