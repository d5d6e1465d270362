"""The doctor on correct scripts: the project's own, and those of other people's styles. It has nothing to say."""

import pytest
from examined import PATIENTS, examined, heard
from stub_project import ROOT

STYLES = sorted((PATIENTS / "styles").glob("*.py"))
SHORT = ["--data", str(ROOT / "data"), "--samples", "512"]
OURS = {
    "lesson2_ranks": [],
    "lesson3_sampler": [],
    "lesson4_ddp": [*SHORT, "--epochs", "2"],
    "lesson5_same_answer": [*SHORT, "--epochs", "2"],
    "lesson6_score_and_resume": [*SHORT, "--epochs", "2", "--checkpoint-every", "5"],
}


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("script", STYLES, ids=lambda path: path.stem)
def test_other_styles_are_silent(script, ranks):
    run = examined(script, ranks=ranks)
    assert {event["how"] for _, event in run.all("end")} == {"done"}
    assert heard(run) == []


@pytest.mark.parametrize("name", OURS)
def test_our_own_scripts_are_silent(name):
    run = examined(ROOT / "scripts" / f"{name}.py", *OURS[name])
    assert {event["how"] for _, event in run.all("end")} == {"done"}
    assert heard(run) == []
