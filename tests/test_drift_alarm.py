"""The benchmark of the drift alarm: it times the alarm itself, and refuses what it cannot measure."""

import sys
import time

import pytest
import torch
from commands import TORCHRUN, run
from ranks import run_ranks
from torch import nn

from ddp_lessons.workbench.scripts import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from drift_alarm import seconds

SCRIPT = ROOT / "benchmarks" / "drift_alarm.py"
TOLD = "drift_alarm.py: error: steps and batch size are numbers from 1, and the ranks are started by torchrun\n"


class Uneven(nn.Linear):
    """A linear model whose every other step, from the first on, is slow."""

    calls = 0

    def forward(self, images):
        self.calls += 1
        time.sleep(0.05 * (self.calls % 2))
        return super().forward(images)


def measured(rank, world_size):
    return seconds(Uneven(4, 3), torch.ones(2, 4), torch.tensor([0, 1]), 4)


def test_the_alarm_s_time_is_its_own_however_uneven_the_steps():
    for step, alarm in run_ranks(2, measured):
        assert step > 0.02 and alarm > 0  # as a difference of steps the alarm was -0.05


@pytest.mark.slow
def test_bad_options_are_one_sentence_from_rank_0(mark):
    done = run([*TORCHRUN[:-3], SCRIPT], "--steps", "0")
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.startswith(TOLD) and done.stderr.count(TOLD) == 1


def test_without_a_group_nothing_is_measured(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    done = run([sys.executable, SCRIPT])
    assert (done.returncode, done.stdout, done.stderr) == (2, "", TOLD)
