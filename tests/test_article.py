"""The article's programs in our own words behave as the article's do, slips included."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.slow  # the appendix's notebook runs both programs, in small
ROOT = Path(__file__).parents[1]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
OPTIONS = f"--data={ROOT / 'data'} --epochs=1 --samples=20000"
DDP = f"{ROOT / 'benchmarks/article_ddp.py'} {OPTIONS}"


def run(folder, *arguments):
    """Run Python in a folder; return the exit code and what was printed."""
    command = [sys.executable, *map(str, arguments)]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=False, cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_single_learns_and_divides_means_by_samples(tmp_path):
    code, text = run(tmp_path, ROOT / "benchmarks/article_single.py", *OPTIONS.split())
    loss, accuracy = map(float, re.search(r"average loss ([\d.]+), accuracy ([\d.]+)%", text).groups())
    assert code == 0 and 83 < accuracy < 89  # a third of an epoch
    assert loss == pytest.approx(0.0007, abs=0.0001)  # the mean loss is near 0.7: a thousand times as much


def test_ddp_on_two_ranks_learns_and_saves_the_wrapped_model(tmp_path):
    command = f"exec {sys.executable} {DDP} --local_rank=$LOCAL_RANK"
    _, text = run(tmp_path, *TORCHRUN, "--no-python", "sh", "-c", command)
    (accuracy,) = re.findall(r"accuracy ([\d.]+)%", text)  # the main process alone tests
    assert 83 < float(accuracy) < 89 and "loss" not in text
    names = list(torch.load(tmp_path / "ddp_model.pth", weights_only=True))
    assert names == ["module.fc.weight", "module.fc.bias"]


def test_ddp_refuses_the_option_of_the_launcher_and_passes_over_torchrun(tmp_path):
    code, text = run(tmp_path, "-m", "torch.distributed.launch", "--nproc_per_node=2", *DDP.split())
    assert code == 1 and "unrecognized arguments: --local-rank" in text
    code, text = run(tmp_path, *TORCHRUN, *DDP.split(), "--samples=640")  # the last one counts
    assert code == 0 and text.count("accuracy") == 2  # each trains alone
    assert list(torch.load(tmp_path / "ddp_model.pth", weights_only=True)) == ["fc.weight", "fc.bias"]
