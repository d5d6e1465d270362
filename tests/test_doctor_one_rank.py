"""The doctor on scripts in which some ranks do alone what all have to do, and on their sound look-alikes."""

import pytest
from examined import PATIENTS, examined, expected, heard

from ddp_lessons.doctor import hang

FOLDER = PATIENTS / "one_rank"
SCRIPTS = sorted(FOLDER.glob("*.py"))


@pytest.fixture(autouse=True)
def hangs_are_seen_soon(monkeypatch):
    monkeypatch.setattr(hang, "STILL", 1.5)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_hears_what_its_comments_say(script, ranks):
    assert bool(expected(script)) is not script.stem.startswith("sound")
    run = examined(script, ranks=ranks)
    assert heard(run) == expected(script), [one.text for one in run.found]
    if script.stem.startswith("sound"):
        assert {end["how"] for _, end in run.all("end")} <= {"done", "exit"} and not run.hang
