"""The doctor on files: written by several ranks, read too early, under the wrapper's names; and sound look-alikes."""

import pytest
from examined import PATIENTS, cases, hears_what_it_should

FOLDER = PATIENTS / "files"


@pytest.mark.parametrize("script", cases(FOLDER))
def test_it_hears_what_its_comments_say(script):
    hears_what_it_should(script)
