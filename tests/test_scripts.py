"""The written scripts on real ranks: what each prints, alone in a folder, and with data still packed."""

import json
import re
import shutil
import uuid
from math import ceil
from pathlib import Path

import pytest
import torch
from ranks import run_script
from slow import slow

ROOT = Path(__file__).parents[1]
DATA = ROOT / "data"
SCRIPTS = sorted((ROOT / "scripts").glob("lesson*.py"))
LESSON1, LESSON2, LESSON3, LESSON4, LESSON5, LESSON6 = (
    next(s for s in SCRIPTS if f"lesson{n}_" in s.name) for n in (1, 2, 3, 4, 5, 6)
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_copied_alone_runs_in_another_folder(script, tmp_path):
    alone = Path(shutil.copy(script, tmp_path))
    options = ["--data", str(DATA), "--epochs", "1", "--samples", "64"] if '"--data"' in script.read_text() else []
    plain, on_ranks = tmp_path / "plain", tmp_path / "ranks"
    plain.mkdir(), on_ranks.mkdir()
    assert run_script(alone, *options, folder=plain) != [""]
    rank_0, *others = run_script(alone, *options, folder=on_ranks, ranks=2)
    assert rank_0 and (others == [""] or script == LESSON1)  # lesson 1 knows of no ranks


@pytest.mark.parametrize("script", [LESSON1, LESSON4, LESSON5, LESSON6], ids=lambda script: script.stem)
def test_help_says_what_is_per_rank_and_what_is_scaled(script, tmp_path):
    [printed] = run_script(script, "--help", folder=tmp_path)
    printed = " ".join(printed.split())
    assert "samples a step, per rank" in printed and "before scaling by the ranks" in printed
    assert "local" not in printed


@pytest.mark.parametrize("ranks", [4, *map(slow, [1, 2])])
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


@pytest.mark.parametrize("ranks", [None, 4, *map(slow, [1, 2])])
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


@pytest.mark.parametrize("attempt", [1, *map(slow, [2, 3])])
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


def lesson_5(folder, *options, ranks=None):
    """Return what lesson 5 printed of each epoch, without the seconds, and the weights that it saved."""
    weights = folder / f"{ranks}-{uuid.uuid4()}.pth"
    common = ["--data", str(DATA), "--samples", "6431", "--epochs", "2", "--save", str(weights)]
    (_, *epochs), *others = map(str.splitlines, run_script(LESSON5, *common, *options, folder=folder, ranks=ranks))
    assert len(epochs) == 2 and not any(others)
    return [line.split(", trained")[0] for line in epochs], torch.load(weights, weights_only=True)["fc.weight"]


def test_lesson_5_trains_the_same_model_on_any_number_of_ranks(tmp_path):
    """6431 images are no whole number of batches, and no equal share for 2 ranks or 4."""
    printed, wanted = lesson_5(tmp_path, "--global-batch", "128", "--warmup-epochs", "1")
    for ranks in (1, 2, 4):
        told, weights = lesson_5(tmp_path, "--global-batch", "128", "--warmup-epochs", "1", ranks=ranks)
        assert told == printed and torch.allclose(weights, wanted, rtol=0, atol=1e-6)
    _, others = lesson_5(tmp_path, "--global-batch", "128", "--warmup-epochs", "1", "--seed", "1")
    assert (others - wanted).abs().max() > 1e-2


def test_lesson_5_scales_by_the_global_batch_over_the_batch_size(tmp_path):
    by_ranks, wanted = lesson_5(tmp_path, ranks=2)  # 2 times 32, at 2 times the rate
    assert by_ranks == lesson_5(tmp_path, "--global-batch", "64")[0]
    for scaling, lr in [("none", 0.01), ("sqrt", 0.01 * 2**0.5), ("linear", 0.02)]:
        _, scaled = lesson_5(tmp_path, "--global-batch", "64", "--scaling", scaling)
        _, by_hand = lesson_5(tmp_path, "--batch-size", "64", "--lr", str(lr))
        assert torch.equal(scaled, by_hand) and torch.allclose(scaled, wanted, atol=1e-6) == (scaling == "linear")
