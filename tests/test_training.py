"""Lesson 4's script on all of MNIST, in every way that a reader may start it, against lesson 1's."""

import os
import re
import socket
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from ranks import gone
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import ToTensor

from ddp_lessons.blocks.model import build_model

ROOT = Path(__file__).parents[1]
DATA = ROOT / "data"
LESSON1, LESSON4 = ROOT / "scripts" / "lesson1_single_card.py", ROOT / "scripts" / "lesson4_ddp.py"
EPOCH = re.compile(r"epoch (\d): test loss \d\.\d{4}, accuracy (\d\d\.\d\d)%, trained in \d+\.\d\d s")

PYTHON = [sys.executable]
TORCHRUN = [*PYTHON, "-m", "torch.distributed.run"]
COMMANDS = {
    "python": [*PYTHON, LESSON4],
    "python --local_rank=0": [*PYTHON, LESSON4, "--local_rank=0"],
    "python lesson1": [*PYTHON, LESSON1],
    "torchrun": [*TORCHRUN, LESSON4],
    "torchrun 2": [*TORCHRUN, "--standalone", "--nproc-per-node", "2", LESSON4],
    "torchrun 4": [*TORCHRUN, "--standalone", "--nproc-per-node", "4", LESSON4],
    "launch 2": [*PYTHON, "-m", "torch.distributed.launch", "--nproc_per_node=2", LESSON4],
}
RANKS = {"torchrun": 1, "torchrun 2": 2, "torchrun 4": 4, "launch 2": 2}


class Outcome(NamedTuple):
    """What came of a command."""

    code: int
    printed: list[str]
    complaints: str
    weights: Path
    mark: str

    @property
    def accuracies(self) -> list[float]:
        return [float(found[2]) for found in map(EPOCH.fullmatch, self.printed) if found]


def train(command: list, folder: Path) -> Outcome:
    """Run a command in the project's folder on all of MNIST; its weights go into `folder`."""
    weights, mark = folder / "weights.pth", f"mark-{uuid.uuid4()}"
    ours = {"OMP_NUM_THREADS": "1", "PET_MASTER_PORT": str(free_port()), "DDP_LESSONS_MARK": mark}
    done = subprocess.run(
        [*command, "--save", weights],
        cwd=ROOT, env=os.environ | ours, check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout.splitlines(), done.stderr, weights, mark)


def free_port() -> int:
    """Return a port for launchers that would all take 29500."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Every command, run once: those of one rank two at a time."""
    folders = {name: tmp_path_factory.mktemp("run") for name in COMMANDS}
    many = [name for name in COMMANDS if RANKS.get(name, 1) > 1]
    one = [name for name in COMMANDS if name not in many]
    with ThreadPoolExecutor(2) as pool:
        outcomes = dict(zip(one, pool.map(lambda name: train(COMMANDS[name], folders[name]), one), strict=True))
    return outcomes | {name: train(COMMANDS[name], folders[name]) for name in many}


@pytest.fixture(params=COMMANDS)
def name(request):
    return request.param


@pytest.fixture
def outcome(outcomes, name):
    assert outcomes[name].code == 0, outcomes[name].complaints
    return outcomes[name]


@pytest.fixture(scope="module")
def test_images():
    """The test set as plain torchvision gives it."""
    return list(DataLoader(datasets.MNIST(DATA, False, transform=ToTensor()), 1000))


def test_five_epochs_reach_an_accuracy_between_90_and_92(outcome):
    assert len(outcome.accuracies) == 5
    assert 90 <= outcome.accuracies[-1] <= 92


def test_rank_0_alone_prints_who_we_are_and_a_line_an_epoch(outcome, name):
    ranks, group = RANKS.get(name, 1), "gloo" if name in RANKS else None
    heading = [] if name == "python lesson1" else [f"ranks: {ranks}, device: cpu, group: {group}"]
    assert outcome.printed[: len(heading)] == heading
    epochs = [EPOCH.fullmatch(line) for line in outcome.printed[len(heading) :]]
    assert [int(found[1]) for found in epochs] == [1, 2, 3, 4, 5]


def test_the_weights_load_into_a_bare_model_and_score_what_was_printed(outcome, test_images):
    model = build_model("linear")
    model.load_state_dict(torch.load(outcome.weights, weights_only=True))
    with torch.no_grad():
        right = sum((model(images).argmax(dim=1) == labels).sum().item() for images, labels in test_images)
    assert f"{right / 10000:.2%}" == f"{outcome.accuracies[-1]:.2f}%"


def test_no_process_is_left(outcome):
    assert gone(outcome.mark)


def test_nothing_but_the_weights_is_written(outcome):
    assert [path.name for path in outcome.weights.parent.iterdir()] == ["weights.pth"]


def test_accuracies_are_within_a_point_of_each_other(outcomes):
    last = [outcome.accuracies[-1] for outcome in outcomes.values()]
    assert max(last) - min(last) <= 1


def test_two_launchers_give_the_same_weights(outcomes):
    assert_same_weights(outcomes["torchrun 2"], outcomes["launch 2"])


@pytest.mark.parametrize("name", ["python", "python --local_rank=0"])
def test_lesson_4_on_a_single_card_is_lesson_1_to_the_bit(outcomes, name):
    assert_same_weights(outcomes[name], outcomes["python lesson1"])
    assert outcomes[name].accuracies == outcomes["python lesson1"].accuracies


def assert_same_weights(one: Outcome, other: Outcome) -> None:
    """Assert that two checkpoints are equal, bit by bit."""
    mine, theirs = (torch.load(outcome.weights, weights_only=True) for outcome in (one, other))
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[key], theirs[key]) for key in mine)
