"""The doctor on correct scripts: the project's own, and those of other people's styles. It has nothing to say."""

import pytest
import torch
from examined import PATIENTS, cases, examined, heard
from ranks import run_script
from slow import slow
from stub_project import ROOT

STYLES = cases(PATIENTS / "styles")
SHORT = ["--data", str(ROOT / "data"), "--samples", "512"]
OURS = {
    "lesson2_ranks": [],
    "lesson3_sampler": [],
    "lesson4_ddp": [*SHORT, "--epochs", "2"],
    "lesson5_same_answer": [*SHORT, "--epochs", "2"],
    "lesson6_score_and_resume": [*SHORT, "--epochs", "2", "--checkpoint-every", "5"],
}


@pytest.mark.parametrize("ranks", [2, slow(3)])
@pytest.mark.parametrize("script", STYLES)
def test_other_styles_are_silent(script, ranks):
    run = examined(script, ranks=ranks)
    assert {event["how"] for _, event in run.all("end")} == {"done"}
    assert heard(run) == []


@pytest.mark.parametrize("name", OURS)
def test_our_own_scripts_are_silent(name):
    run = examined(ROOT / "scripts" / f"{name}.py", *OURS[name])
    assert {event["how"] for _, event in run.all("end")} == {"done"}
    assert heard(run) == []


@pytest.mark.parametrize("name", ["lesson4_ddp", "lesson6_score_and_resume"])
def test_a_script_computes_and_saves_to_the_last_bit_what_it_does_without_the_doctor(tmp_path, name):
    files = [tmp_path / "without.pth", tmp_path / "with.pth"]
    script, options = ROOT / "scripts" / f"{name}.py", [*SHORT, "--epochs", "2"]
    run_script(script, *options, "--save", str(files[0]), folder=tmp_path, ranks=2)
    examined(script, *options, "--save", str(files[1]))
    without, under = (torch.load(file, weights_only=True) for file in files)
    assert list(without) == list(under) and without
    assert all(torch.equal(without[key], under[key]) for key in without)
