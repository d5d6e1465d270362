"""The doctor on files: written by several ranks, read too early, under the wrapper's names; and sound look-alikes."""

import pytest
from examined import PATIENTS, examined, expected, heard

SCRIPTS = sorted((PATIENTS / "files").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_hears_what_its_comments_say(script):
    assert bool(expected(script)) is not script.stem.startswith("sound")
    assert heard(examined(script)) == expected(script)
