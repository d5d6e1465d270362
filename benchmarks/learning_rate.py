"""How well each rule for the learning rate keeps the accuracy as ranks are added: measured, stored as data.

Each rank adds 32 images to the global batch. One process takes that whole batch: lesson 5 proves that this is what
the ranks compute together. The loop is that of `scripts/lesson5_same_answer.py`, which so gives the same accuracy:

    torchrun --standalone --nproc-per-node 2 scripts/lesson5_same_answer.py --scaling linear --seed 0

Two runs that are the same are made once: on one rank every rule leaves the rate as it is, and so does, with and
without warm-up, `none`; `constant` keeps one rank's batch of 32 and its rate, so it is what one rank has computed.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

import torch
from epoch_time import cpu_name
from torch import optim
from torch.utils.data import DataLoader

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.evaluate import evaluate
from ddp_lessons.blocks.model import build_model
from ddp_lessons.blocks.schedule import scale_lr
from ddp_lessons.blocks.train import train_epoch
from ddp_lessons.lesson5_same_answer import shared_loader
from ddp_lessons.workbench.scripts import write_whole

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).with_suffix(".json")
DATA = str(ROOT / "data")
SHARE, EPOCHS, SEEDS = 32, 5, range(3)  # images a step and rank
RULES = [("none", 0), ("sqrt", 0), ("sqrt", 1), ("linear", 0), ("linear", 1)]  # with how many epochs of warm-up


class Network(NamedTuple):
    """What is trained, on what, and on how many ranks."""

    samples: int  # the first ones of MNIST's training set
    lr: float  # for one rank
    ranks: list[int]


NETWORKS = {
    "linear": Network(60_000, 0.01, [2**power for power in range(10)]),
    "cnn": Network(5_000, 0.05, [2**power for power in range(5)]),
}


class Training(NamedTuple):
    """What is trained, and how; each is done once for each seed."""

    model: str
    ranks: int
    scaling: str
    warmup_epochs: int


def main() -> None:
    """Train all, and write what was seen."""
    options = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--models", nargs="+", choices=NETWORKS, default=list(NETWORKS), help="what to train")
    options.add_argument("--out", type=Path, default=RESULTS, help="file for the results")
    args = options.parse_args()
    if args.out.is_dir() or not args.out.parent.is_dir():
        options.error("--out is a file, in a folder that is there")  # said now, not after half an hour
    models = [name for name in NETWORKS if name in args.models]  # each once
    if len(models) < len(NETWORKS) and args.out.resolve() == RESULTS.resolve():
        options.error(f"{RESULTS.name} holds all models: for a part of them name another file with --out")
    torch.set_num_threads(1)  # as torchrun gives each of several ranks
    rows, trainings = [], list(all_trainings(models))
    for number, training in enumerate(trainings, start=1):
        rows.append(training._asdict() | {"accuracies": [train(training, seed) for seed in SEEDS]})
        print(f"{number} of {len(trainings)}: {json.dumps(rows[-1])}", file=sys.stderr)
    networks = {name: NETWORKS[name]._asdict() for name in models}
    head = {"command": command(), **machine(), "share": SHARE, "epochs": EPOCHS, "networks": networks}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines.append(' "results": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n ]")  # a training a line
    write_whole(args.out, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def all_trainings(models: list[str]) -> Iterator[Training]:
    """Give all trainings, no two of them the same."""
    for model in models:
        for ranks in NETWORKS[model].ranks:
            for rule in RULES if ranks > 1 else RULES[:1]:
                yield Training(model, ranks, *rule)


def train(training: Training, seed: int, samples: int | None = None) -> float:
    """Return the accuracy after all epochs in percent, as lesson 5's script prints it; `samples`: fewer than usual."""
    network = NETWORKS[training.model]
    torch.manual_seed(seed)
    train_set = load_mnist(DATA, train=True, samples=samples or network.samples)
    loader = shared_loader(train_set, SHARE * training.ranks, 0, 1, seed)
    test_loader = DataLoader(load_mnist(DATA, train=False), 1000, collate_fn=tuple)
    model = build_model(training.model)
    optimizer = optim.SGD(model.parameters(), lr=network.lr)
    scale_lr(optimizer, training.ranks, training.scaling, training.warmup_epochs * len(loader))
    for epoch in range(EPOCHS):
        loader.sampler.set_epoch(epoch)
        train_epoch(model, loader, optimizer, "cpu")
    return round(evaluate(model, test_loader, "cpu")[1] * 100, 2)


def command() -> str:
    """Return the command that was given."""
    return " ".join(["python", "benchmarks/learning_rate.py", *sys.argv[1:]])


def machine() -> dict[str, str | int]:
    """Return when and on what this was measured, and how long it took."""
    system = f"{platform.system()} {platform.machine()}"
    return {
        "date": str(date.today()), "system": system, "cores": os.cpu_count(), "cpu": cpu_name(),
        "python": platform.python_version(), "torch": torch.__version__,
        "cpu_minutes": round(time.process_time() / 60, 1),
    }  # fmt: skip


if __name__ == "__main__":
    main()
