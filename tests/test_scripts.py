"""The written scripts, on real ranks, the way a reader starts them."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from ranks import gone, run_script
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import ToTensor

from ddp_lessons.blocks.model import SimpleNN

ROOT = Path(__file__).parents[1]
DATA = ROOT / "data"
SCRIPTS = sorted((ROOT / "scripts").glob("lesson*.py"))
LESSON1, LESSON2, LESSON3, LESSON4 = (next(s for s in SCRIPTS if f"lesson{n}_" in s.name) for n in (1, 2, 3, 4))
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
    model = SimpleNN()
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


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_copied_alone_runs_in_another_folder(script, tmp_path):
    alone = Path(shutil.copy(script, tmp_path))
    options = ["--data", str(DATA), "--epochs", "1", "--samples", "64"] if '"--data"' in script.read_text() else []
    assert run_script(alone, *options, folder=tmp_path) != [""]
    rank_0, *others = run_script(alone, *options, folder=tmp_path, ranks=2)
    assert rank_0 and (others == [""] or script == LESSON1)  # lesson 1 knows of no ranks


@pytest.mark.parametrize("script", [LESSON1, LESSON4], ids=lambda script: script.stem)
def test_help_says_what_is_per_rank_and_what_is_scaled(script, tmp_path):
    [printed] = run_script(script, "--help", folder=tmp_path)
    printed = " ".join(printed.split())
    assert "samples a step, per rank" in printed and "before scaling by the ranks" in printed
    assert "local" not in printed


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_lesson_2_says_what_every_rank_had_and_has(ranks, tmp_path):
    rank_0, *others = run_script(LESSON2, folder=tmp_path, ranks=ranks)
    assert others == [""] * (ranks - 1)
    numbers = list(range(10, 10 + ranks))
    lines = iter(rank_0.splitlines())
    for rank in range(ranks):
        assert re.fullmatch(rf"rank {rank}: one of {ranks}, local rank {rank}, process \d+", next(lines))
    for collective, has in [("broadcast ", 10), ("all_reduce", sum(numbers)), ("all_gather", numbers)]:
        for rank in range(ranks):
            assert next(lines) == f"rank {rank}: {collective} had {10 + rank}, has {has}"
    assert_barrier_waits_for_the_last(list(lines), ranks)


def assert_barrier_waits_for_the_last(lines: list[str], ranks: int) -> None:
    """Rank r works for r times 0.2 s before it gets there; on a busy machine times are rough."""
    patterns = [rf"rank {rank}: barrier +waited (\d+\.\d) s for the last of {ranks}" for rank in range(ranks)]
    waits = [float(re.fullmatch(p, line)[1]) for p, line in zip(patterns, lines, strict=True)]
    for rank, waited in enumerate(waits):
        assert waited == pytest.approx(0.2 * (ranks - 1 - rank), abs=0.3)


def test_lesson_2_on_a_single_card_says_how_to_start_it(tmp_path):
    [printed] = run_script(LESSON2, folder=tmp_path)
    assert len(printed.splitlines()) == 1 and "torchrun --nproc-per-node 2" in printed


@pytest.mark.parametrize("ranks", [None, 1, 2, 4])
@pytest.mark.parametrize("options", [(), ("--drop-last",), ("--no-set-epoch",), ("--samples", "7", "--epochs", "1")])
def test_lesson_3_says_who_read_what(ranks, options, tmp_path):
    rank_0, *others = run_script(LESSON3, *options, folder=tmp_path, ranks=ranks)
    assert others == [""] * ((ranks or 1) - 1)
    assert rank_0.splitlines() == who_reads_what(ranks or 1, options)


def who_reads_what(ranks: int, options: tuple[str, ...]) -> list[str]:
    """The lines of lesson 3: a permutation, padded from its start or cut, dealt out like cards, in steps of two."""
    samples, epochs = (7, 1) if "7" in options else (10, 2)
    lines = []
    for epoch in range(epochs):
        seed = 0 if "--no-set-epoch" in options else epoch
        order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed)).tolist()
        size = samples // ranks * ranks if "--drop-last" in options else ceil(samples / ranks) * ranks
        dealt = (order + order)[:size]
        for rank in range(ranks):
            mine = dealt[rank::ranks]
            steps = [mine[start : start + 2] for start in range(0, len(mine), 2)]
            lines.append(f"epoch {epoch + 1}, rank {rank}: {' '.join(map(json.dumps, steps))}")
        twice, none = sorted(dealt[samples:]), sorted(set(order) - set(dealt))
        lines.append(f"epoch {epoch + 1}, read twice: {twice}, read by nobody: {none}")
    return lines


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_ranks_that_start_with_packed_data_all_read_it_whole(attempt, tmp_path):
    raw = tmp_path / "fresh" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for archive in (DATA / "MNIST" / "raw").glob("*.gz"):
        shutil.copy(archive, raw)
    options = ["--data", "fresh", "--epochs", "1", "--samples", "64"]
    fresh = run_script(LESSON4, *options, folder=tmp_path, ranks=4)
    assert re.fullmatch(r"ranks: 4, .*\nepoch 1: .*\n", fresh[0]) and fresh[1:] == [""] * 3
    unpacked = {path.name: path.stat().st_size for path in raw.iterdir() if path.suffix != ".gz"}
    assert unpacked == {
        "train-images-idx3-ubyte": 16 + 60000 * 784, "train-labels-idx1-ubyte": 8 + 60000,
        "t10k-images-idx3-ubyte": 16 + 10000 * 784, "t10k-labels-idx1-ubyte": 8 + 10000,
    }  # fmt: skip
