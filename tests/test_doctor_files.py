"""The doctor on files: written by several ranks, read too early, under the wrapper's names; and sound look-alikes."""

import pytest
from examined import PATIENTS, hears_what_it_should

SCRIPTS = sorted((PATIENTS / "files").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_hears_what_its_comments_say(script):
    hears_what_it_should(script)
