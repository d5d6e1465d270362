"""The doctor on scripts whose ranks drift apart, and on their sound look-alikes."""

import re

import pytest
from examined import PATIENTS, cases, examined, expected, heard, hears_what_it_should

from ddp_lessons.doctor.judge import findings

FOLDER = PATIENTS / "drift"
CASES = cases(FOLDER)


@pytest.mark.parametrize("script", CASES)
def test_it_hears_what_its_comments_say(script):
    hears_what_it_should(script)


@pytest.mark.slow
@pytest.mark.parametrize("script", [case for case in CASES if "hand" in case.id])
def test_it_hears_the_same_on_three_ranks(script):
    assert heard(examined(script, ranks=3)) == expected(script)


SAID = {
    "module_called": "0.weight is not the same on ranks 0 and 1 after step 1",
    "method_of_module": "first.weight is not the same on ranks 0 and 1 after step 3",
    "unfrozen_later": "parts.backbone.weight is not the same on ranks 0 and 1 after step 3, since it was unfrozen",
    "head_replaced": "2.weight is not the same on ranks 0 and 1 after step 1, since it was replaced",
    "last_batch_left_over": "after step 3",  # two of two batches, and the fifth alone
    "rate_by_rank": "rank 0 stepped with lr 0.01, rank 1 with 0.02",
    "noise_between_steps": "before step 4, since ranks 0 and 1 changed it",
    "step_left_out": "rank 1 has left out a step: its step 3 comes after 4 backwards, that of rank 0 after 3",
    "branch_not_taken": "side.weight had no part in the loss",
    "never_wrapped": "took 4 steps and exchanged nothing",  # 64 samples for two ranks, 8 a batch
    "bias_not_averaged": "the gradient of 0.bias is averaged at no step",
    "every_other_step": "not at step 2",
    "sound_weights_averaged": "",
    "sound_local_sgd_hook": "after step 3, but is again before step 4",
}


@pytest.mark.parametrize("name", SAID)
def test_it_says_which_tensor_and_when(name):
    texts = [one.text for one in findings(examined(PATIENTS / "drift" / f"{name}.py"))]
    assert any(SAID[name] in text for text in texts) or not SAID[name] and not texts


def test_it_says_by_how_much(tmp_path):
    script = tmp_path / "apart.py"
    script.write_text(APART)
    (found,) = findings(examined(script, ranks=3))
    assert re.search(r"weight .* since rank 1 changed it .* among 3 of its numbers, is 0\.25$", found.text)


APART = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
if dist.get_rank() == 1:
    model.module.weight.data[0, 2] += 0.25
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(1, 3)).sum().backward()  # its gradient is 1 everywhere: the difference stays
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("script", [case for case in CASES if "sound" in case.id])
def test_sound_ones_stay_silent_when_they_are_cut_short(script):
    assert heard(examined(script, limit=4)) == []
