"""On a real GPU: a rank with a card of its own talks over nccl, ranks that share one over gloo."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SYNC_BATCH_NORM = """
import torch.distributed as dist

from ddp_lessons.blocks.ranks import join_ranks
from ddp_lessons.workbench.broken.layers import gap_with_sync_batch_norm

device, rank, _ = join_ranks()
gap = gap_with_sync_batch_norm("data")
if rank == 0:
    print(dist.get_backend(), gap)
dist.destroy_process_group()
"""
COUNT = "import torch; print(torch.cuda.device_count())"


@pytest.fixture(autouse=True)
def skip_without_gpu(request, environment_with_gpu):
    if not request.node.get_closest_marker("gpu"):
        return
    if not shutil.which("nvidia-smi") or output([sys.executable, "-c", COUNT], environment_with_gpu) == "0\n":
        pytest.skip("no NVIDIA GPU here")


def output(command: list, environment: dict[str, str]) -> str:
    """Return what a command prints in the project's folder; it must end well."""
    options = {"cwd": ROOT, "timeout": 300, "text": True, "stdout": subprocess.PIPE}
    return subprocess.run(command, env=environment, check=True, **options).stdout


def test_the_other_tests_see_no_gpu():
    assert output([sys.executable, "-c", COUNT], None) == "0\n"


@pytest.mark.gpu
@pytest.mark.parametrize(("ranks", "group"), [(1, "nccl"), (2, "gloo")])
def test_lesson_4_trains_on_a_card(ranks, group, environment_with_gpu, tmp_path):
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    script = ["scripts/lesson4_ddp.py", "--save", tmp_path / "weights.pth"]
    heading, *epochs = output([sys.executable, *torchrun, *script], environment_with_gpu).splitlines()
    assert heading == f"ranks: {ranks}, device: cuda:0, group: {group}"
    assert len(epochs) == 5
    assert 90 <= float(re.search(r"accuracy (\d\d\.\d\d)%", epochs[-1])[1]) <= 92


@pytest.mark.gpu
def test_sync_batch_norm_gives_one_process_gradient(environment_with_gpu, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SYNC_BATCH_NORM)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    backend, gap = output([sys.executable, *torchrun, program], environment_with_gpu).split()
    assert backend == "gloo"
    assert float(gap) < 1e-10  # with plain BatchNorm it is 5e-2: see test_broken_layers
