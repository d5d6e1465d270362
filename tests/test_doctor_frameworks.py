"""A script computes under the doctor what it does without it, to the last bit: plain torch's, and frameworks'."""

import subprocess
import sys

import pytest
from examined import PATIENTS
from ranks import HANG
from slow import slow_but

from ddp_lessons.doctor.judge import findings, grade
from ddp_lessons.doctor.patient import examine

NEEDS = {
    "plain": "torch", "lightning_fit": "lightning", "fabric_loop": "lightning", "accelerate_loop": "accelerate",
    "transformers_trainer": "transformers",
}  # fmt: skip
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def test_every_script_is_run():
    assert {script.stem for script in (PATIENTS / "frameworks").glob("*.py")} == set(NEEDS)


@pytest.mark.parametrize("name", slow_but(["plain"], list(NEEDS)))
def test_batches_steps_and_losses_are_the_same_under_the_doctor(tmp_path, monkeypatch, name):
    pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as the doctor has it where there are two ranks for two cores
    script, under = str(PATIENTS / "frameworks" / f"{name}.py"), []
    without = subprocess.run([*TORCHRUN, script], check=False, stdout=subprocess.PIPE, text=True, timeout=HANG)
    run, why = examine(script, timeout=HANG, hear=under.append)
    assert without.returncode == 0 and not why
    assert of_ranks(under) == of_ranks(without.stdout.splitlines()) and len(of_ranks(under)) >= 12
    seeded_alike = [] if name == "plain" else ["DDP207"]  # and so dropout is the same on both ranks
    assert [one.code for one in findings(run) if grade(one) != "note"] == seeded_alike


def of_ranks(lines: list[str]) -> list[str]:
    """Return the lines that ranks print, in each rank's order; between ranks it is chance."""
    return sorted((line.strip() for line in lines if line.startswith("rank ")), key=lambda line: line.split(":")[0])
