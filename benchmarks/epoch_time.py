"""How long an epoch takes, ours against the article's: whole scripts, in turns, in one run.

The clock stands outside the scripts: an epoch is the time from one line printed to the next, so that training,
test and saving are in it, and the start of the process is not. Medians are compared. GPUs are hidden.
Each process has one thread, unless the table says otherwise: torchrun gives each of several ranks one, and on a
machine with other work a second one waits more than it helps.
"""

import argparse
import itertools
import os
import platform
import re
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from torchvision import datasets

from ddp_lessons.running.program import Program

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 900  # seconds for one turn of one script
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


class Turn(NamedTuple):
    """What was seen of one run of a script, its first epoch left out."""

    epochs: list[float]  # seconds from line to line: training and test
    trained: list[float]  # seconds of training, as lessons 1 and 4 print them
    accuracy: float  # after the last epoch, in percent


def main() -> None:
    """Measure all, and print a table."""
    options = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--blocks", type=int, default=3, help="turns that each script takes")
    options.add_argument("--epochs", type=int, default=5, help="epochs in a turn; the first is not counted")
    args = options.parse_args()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # for all that is started
    cores, load = os.cpu_count(), os.getloadavg()[0]
    print(f"{date.today()}, {platform.system()} {platform.machine()}, {cores} cores, {cpu_name()}")
    print(f"load before the start {load:.1f}: above 0.5, two ranks do not have two cores")
    print(f"Python {platform.python_version()}, torch {torch.__version__}; {args.blocks} turns, {args.epochs} epochs")
    against_article_single(args.blocks, args.epochs)
    against_article_ddp(args.blocks, args.epochs)
    one_process_or_two(args.blocks)


def against_article_single(blocks: int, epochs: int) -> None:
    """Print lesson 1's script against the article's first program, and its distance from the floor."""
    images, labels = training_images()
    torch.set_num_threads(1)  # for the floor
    seen = take_turns(
        blocks,
        {
            "the article's first program": lambda: run("benchmarks/article_single.py", f"--epochs={epochs}"),
            "lesson 1's script": lambda: run("scripts/lesson1_single_card.py", f"--epochs={epochs}"),
            "floor: gather and products by hand": lambda: Turn([floor(images, labels)], [], 0),
        },
    )
    article, lesson, least = map(seconds, seen.values())
    print("\nAn epoch, train and test, one process, 32 a step:")
    for name, turns in seen.items():
        print(f"  {name:36} {seconds(turns):6.2f} s")
    print(f"  lesson 1 is {article / lesson:.1f} times faster (aim: 6), {lesson / least:.1f} times its floor")
    print_agreement(*list(seen.values())[:2])


def against_article_ddp(blocks: int, epochs: int) -> None:
    """Print lesson 4's script on two ranks against the article's second program on two ranks."""
    seen = take_turns(
        blocks,
        {
            "the article's second program": lambda: run_article_ddp(epochs),
            "lesson 4's script": lambda: run("scripts/lesson4_ddp.py", f"--epochs={epochs}", ranks=2),
        },
    )
    article, lesson = map(seconds, seen.values())
    print("\nAn epoch, train and test, two ranks, 32 a step and rank:")
    for name, turns in seen.items():
        print(f"  {name:36} {seconds(turns):6.2f} s")
    print(f"  lesson 4 is {article / lesson:.1f} times faster (aim: 2)")
    print_agreement(*seen.values())


def one_process_or_two(blocks: int) -> None:
    """Print lesson 4's script, a small and a larger model, the global batch fixed at 64."""
    print("\nImages a second in training, global batch 64, the same learning rate:")
    print(f"  {'':8} {'1 rank, 1 thread':>18} {'1 rank, 2 threads':>18} {'2 ranks, 1 thread':>18}")
    for model, samples in ("linear", 60_000), ("cnn", 4_000):
        options = ["--epochs=3", f"--model={model}", f"--samples={samples}"]
        one, two = [*options, "--batch-size=64", "--lr=0.01"], [*options, "--batch-size=32", "--lr=0.005"]
        seen = take_turns(
            blocks,
            {
                "one thread": lambda one=one: run("scripts/lesson4_ddp.py", *one, threads=1),
                "two threads": lambda one=one: run("scripts/lesson4_ddp.py", *one, threads=2),
                "two ranks": lambda two=two: run("scripts/lesson4_ddp.py", *two, ranks=2),
            },
        )
        rates = [samples / median(s for turn in turns for s in turn.trained) for turns in seen.values()]
        print(f"  {model:8}", *(f"{rate:18,.0f}" for rate in rates), end="")
        print(f"   two ranks: {rates[2] / rates[0]:.2f} and {rates[2] / rates[1]:.2f} times one")


def take_turns(blocks: int, contestants: dict) -> dict[str, list[Turn]]:
    """Let each run once, then each again, so that a slow minute of the machine hits all; return what was seen."""
    seen = {name: [] for name in contestants}
    for _ in range(blocks):
        for name, contestant in contestants.items():
            seen[name].append(contestant())
    return seen


def run(script: str, *options: str, ranks: int = 1, threads: int = 1) -> Turn:
    """Run a script of this project to its end, under plain python or on two ranks."""
    command = [ROOT / script, f"--data={ROOT / 'data'}", *options]
    return watch([*TORCHRUN, *command] if ranks == 2 else command, threads)


def run_article_ddp(epochs: int) -> Turn:
    """Run the article's second program on two ranks; a shell hands it the local rank as an option."""
    options = f"--data={ROOT / 'data'} --epochs={epochs} --local_rank=$LOCAL_RANK"
    shell = f"exec {sys.executable} {ROOT / 'benchmarks/article_ddp.py'} {options}"
    return watch([*TORCHRUN, "--no-python", "sh", "-c", shell], threads=1)


def watch(command: list, threads: int) -> Turn:
    """Run a Python command in an empty folder, and note when it prints each line about an epoch."""
    times, lines = [], []
    with tempfile.TemporaryDirectory() as folder:
        program = Program([*map(str, command)], Path(folder), threads)
        try:
            for line in program.lines(PATIENCE, stuck=60):
                if "accuracy" in line:
                    times.append(time.perf_counter())
                    lines.append(line)
        finally:
            program.end()
    if len(lines) < 2:
        print(program.broken_off, *program.said().values(), sep="\n", file=sys.stderr)
        sys.exit(f"failed, what it said is above: {' '.join(map(str, command))}")
    epochs = [after - before for before, after in itertools.pairwise(times)]
    trained = re.findall(r"trained in ([\d.]+) s", "".join(lines))[1:]
    return Turn(epochs, list(map(float, trained)), float(re.search(r"accuracy ([\d.]+)%", lines[-1])[1]))


def training_images() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the training images, flat, and their labels."""
    mnist = datasets.MNIST(ROOT / "data", train=True, download=True)
    return mnist.data.flatten(1).float() / 255, mnist.targets


def floor(images: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the seconds of what no epoch of training can do without: the gather, and a product each way."""
    weights, slope = torch.zeros(784, 10), torch.ones(32, 10)  # stands for the gradient of the logits
    start = time.perf_counter()
    for rows in torch.randperm(len(images)).split(32):
        batch, _ = images[rows], labels[rows]
        batch @ weights
        batch.T @ slope[: len(batch)]
    return time.perf_counter() - start


def seconds(turns: list[Turn]) -> float:
    """Return the median of an epoch over all turns."""
    return median(s for turn in turns for s in turn.epochs)


def print_agreement(*contestants: list[Turn]) -> None:
    """Print the median accuracies, and stop if they are more than a point apart: then times compare nothing."""
    article, lesson = (median(turn.accuracy for turn in turns) for turns in contestants)
    print(f"  accuracy {article:.2f} % and {lesson:.2f} %")
    assert abs(article - lesson) < 1, "not the same training"


def cpu_name() -> str:
    """Return the name of the processor, where Linux tells it."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"model name\s*: (.*)", info)
    return found[1] if found else platform.processor()


if __name__ == "__main__":
    main()
