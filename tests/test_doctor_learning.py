"""The doctor on scripts that learn nothing, and on their sound look-alikes."""

import pytest
from examined import PATIENTS, cases, examined, hears_what_it_should

from ddp_lessons.doctor.judge import findings

FOLDER = PATIENTS / "learning"


@pytest.mark.parametrize("script", cases(FOLDER))
def test_it_hears_what_its_comments_say(script):
    hears_what_it_should(script)


SAID = {
    "blows_up": "to the last, step 12, a gradient was not finite",
    "optimizer_of_a_copy": "at all 4 steps no parameter of the optimizer had a gradient",
    "rate_zero": "5 steps changed no weight, to the last bit: its learning rate was 0",
    "update_rounds_away": "6 steps changed no weight",
    "scheduler_at_zero": "its learning rate was 0.25 when it was made, and 0 at its steps",
    "cleared_too_late": "backward (line 10) left gradients, and at all 4 steps the optimizer had no gradient",
    "cleared_to_zeros": "at all 5 steps the optimizer had none but zeros",
    "loss_made_anew": "none of 4 backwards gave that a gradient",
    "no_step": "6 backwards, and never a step",
}


@pytest.mark.parametrize("name", SAID)
def test_it_says_how_often(name):
    (found,) = findings(examined(PATIENTS / "learning" / f"{name}.py"))
    assert SAID[name] in found.text


def test_a_rate_that_was_zero_so_far_is_only_suspect():
    (found,) = findings(examined(PATIENTS / "learning" / "rate_zero.py", limit=4))
    assert (found.code, found.grade) == ("DDP704", "suspect")
