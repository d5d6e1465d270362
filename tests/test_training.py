"""Lesson 4's script in every way that a reader may start it, against lesson 1's: on a bit of MNIST, and on all."""

import os
import re
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from ranks import gone, run_script
from slow import slow
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


class Way(NamedTuple):
    """A way to start a script: the launcher's command, if there is one, and how many ranks it starts."""

    script: Path = LESSON4
    options: tuple[str, ...] = ()
    ranks: int | None = None
    launcher: tuple[str, ...] = tuple(PYTHON)


WAYS = {
    "python": Way(),
    "python --local_rank=0": Way(options=("--local_rank=0",)),
    "python lesson1": Way(LESSON1),
    "torchrun": Way(ranks=1, launcher=(*TORCHRUN,)),
    "torchrun 2": Way(ranks=2, launcher=(*TORCHRUN, "--standalone", "--nproc-per-node", "2")),
    "torchrun 4": Way(ranks=4, launcher=(*TORCHRUN, "--standalone", "--nproc-per-node", "4")),
    "launch 2": Way(ranks=2, launcher=(*PYTHON, "-m", "torch.distributed.launch", "--nproc_per_node=2")),
}
SIZES = {"a hundredth": ("--samples", "640", "--epochs", "2"), "all": ()}
LAUNCHED = ("torchrun 2", "launch 2")  # of a hundredth; the other ranks are forked, and told what a launcher tells


class Outcome(NamedTuple):
    """What came of a training."""

    code: int
    printed: list[str]
    complaints: str
    weights: Path
    mark: str

    @property
    def accuracies(self) -> list[float]:
        return [float(found[2]) for found in map(EPOCH.fullmatch, self.printed) if found]


def launched(way: Way, options: list[str], weights: Path) -> Outcome:
    """Train with the command that a reader types, in the project's folder."""
    mark = f"mark-{uuid.uuid4()}"
    ours = {"OMP_NUM_THREADS": "1", "PET_MASTER_PORT": str(free_port()), "DDP_LESSONS_MARK": mark}
    command = [*way.launcher, way.script, *options]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | ours, check=False, capture_output=True, text=True, timeout=1200
    )
    return Outcome(done.returncode, done.stdout.splitlines(), done.stderr, weights, mark)


def forked(way: Way, options: list[str], weights: Path) -> Outcome:
    """Train in processes that are up at once."""
    printed = run_script(way.script, *options, folder=ROOT, ranks=way.ranks, timeout=300)
    return Outcome(0, "".join(printed).splitlines(), "", weights, "nothing is left of forked ranks")


def free_port() -> int:
    """Return a port for launchers that would all take 29500."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture(scope="module", params=["a hundredth", slow("all")])
def size(request):
    """How much of MNIST is trained on."""
    return request.param


@pytest.fixture(scope="module")
def outcomes(size, tmp_path_factory):
    """Every way, taken once."""
    found = {}
    for name, way in WAYS.items():
        weights = tmp_path_factory.mktemp("run") / "weights.pth"
        options = [*SIZES[size], *way.options, "--data", str(DATA), "--save", str(weights)]
        train = launched if size == "all" or name in LAUNCHED else forked
        found[name] = train(way, options, weights)
    return found


@pytest.fixture(params=WAYS)
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


def test_five_epochs_reach_an_accuracy_between_90_and_92(outcome, size):
    accuracies = outcome.accuracies
    assert len(accuracies) == (5 if size == "all" else 2)
    low, high = (90, 92) if size == "all" else (40, 75)  # after 40 steps the model is still far from its best
    assert low <= accuracies[-1] <= high


def test_rank_0_alone_prints_who_we_are_and_a_line_an_epoch(outcome, name, size):
    ranks = WAYS[name].ranks
    heading = [] if name == "python lesson1" else [f"ranks: {ranks or 1}, device: cpu, group: {ranks and 'gloo'}"]
    assert outcome.printed[: len(heading)] == heading
    epochs = [EPOCH.fullmatch(line) for line in outcome.printed[len(heading) :]]
    assert [int(found[1]) for found in epochs] == ([1, 2, 3, 4, 5] if size == "all" else [1, 2])


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


@pytest.mark.parametrize("size", [slow("all")], indirect=True, scope="module")
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
