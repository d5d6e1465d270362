"""A killed run: every box against a run played by hand, and against lesson 6's own training on real ranks."""

import re
from collections import Counter
from functools import cache
from itertools import chain, product

import pytest
import torch
from drawn import corners, shapes_of
from ranks import run_ranks

from ddp_lessons.blocks.data import InMemory
from ddp_lessons.blocks.model import build_model
from ddp_lessons.lesson6_score_and_resume import Training
from ddp_lessons.workbench.pictures.killed_run import KilledRun, steps_left
from ddp_lessons.workbench.pictures.picture import COLORS, HEIGHT, PAPER

RUN = {"seed": 0, "global_batch": 12, "batch_size": 12, "lr": 0.01, "dropout": 0.0, "epochs": 1}


@cache
def by_hand() -> list[list[int]]:
    """Return the 96 samples, shuffled as epoch 0 does with seed 0, in blocks of 12: what each step reads."""
    order = torch.randperm(96, generator=torch.Generator().manual_seed(0)).tolist()
    return [order[begin : begin + 12] for begin in range(0, 96, 12)]


def play(every: int, forgets: bool, sigterm: bool, killed: int) -> tuple[int, range, Counter]:
    """Return the step of the last checkpoint, what the resumed run reads, and how often each sample counts."""
    saved, weights, checkpoint, blocks = 0, Counter(), Counter(), by_hand()
    for step in range(1, killed + 1):
        weights = weights + Counter(blocks[step - 1])
        if step % every == 0 or (sigterm and step == killed):
            saved, checkpoint = step, weights
    resumed = range(1 if forgets else saved + 1, 9)
    return saved, resumed, sum((Counter(blocks[step - 1]) for step in resumed), checkpoint)


def drawn(picture: KilledRun) -> tuple[dict, dict]:
    """Return, for the first run and the resumed one, what a sample's box tells: who reads it, is it lost, twice."""
    shapes, runs = shapes_of(picture), ({}, {})
    for place, word in enumerate(shapes):
        if word.get("font-size") == "11":
            lost = shapes[place - 2].tag.endswith("rect")  # a second box, in the first
            box = shapes[place - 1 - lost]
            assert not lost or shapes[place - 1].get("fill") == PAPER
            reader = COLORS.index(box.get("fill")) if box.get("fill") in COLORS else None
            runs[float(word.get("y")) > HEIGHT / 2][int(word.text)] = reader, lost, box.get("stroke-width") == "3"
    return runs


def numbers_above(picture: KilledRun) -> tuple[dict, dict]:
    """Return, for both runs, what stands above each block of boxes: the number of the step that reads it."""
    words, above = [shape for shape in shapes_of(picture) if (shape.text or "").isdecimal()], ({}, {})
    middles = {word.text: float(word.get("x")) for word in words if word.get("font-size") == "11"}
    blocks = [sum(middles[str(sample)] for sample in block) / 12 for block in by_hand()]
    for word in words:
        if word.get("font-size") == "12":
            below = float(word.get("y")) > HEIGHT / 2
            above[below][1 + blocks.index(pytest.approx(float(word.get("x"))))] = int(word.text)
    return above


def assert_shown(picture: KilledRun) -> None:
    """Hold boxes, numbers of steps and words to a run played by hand."""
    before, after, every, forgets, sigterm, killed = picture.values.values()
    saved, resumed, counts = play(every, forgets, sigterm, killed)
    steps = {0: dict.fromkeys(range(1, killed + 1)), 1: dict.fromkeys(resumed)}
    for run, (ranks, boxes) in enumerate(zip((before, after), drawn(picture), strict=True)):
        assert list(boxes) == list(chain(*by_hand()))
        for step, block in enumerate(by_hand(), start=1):
            for place, sample in enumerate(block):
                read, lost = step in steps[run], run == 0 and saved < step <= killed
                reader = place % ranks if read else None
                assert boxes[sample] == (reader, lost, read and not lost and counts[sample] > 1)
    above = {step: step for step in range(1, killed + 1)}, {step: saved + n for n, step in enumerate(resumed, start=1)}
    assert numbers_above(picture) == above
    names = [shape.text for shape in shapes_of(picture) if (shape.text or "").startswith("rank ")]
    assert names == [f"rank {rank}" for ranks in (before, after) for rank in range(ranks)]
    assert_said(picture, saved, killed, resumed, counts)


def assert_said(picture: KilledRun, saved: int, killed: int, resumed: range, counts: Counter) -> None:
    """Hold the words, and the marks, to a run played by hand."""
    words, (last, redone) = picture.words, re.findall(r": (no|\d+) steps? (?:is|are) ", picture.words)
    assert last == str(killed - saved or "no") and redone == str(len([s for s in resumed if s <= killed]) or "no")
    assert ("There is no checkpoint yet" if saved == 0 else f"The last checkpoint is that of step {saved}:") in words
    twice = sum(times == 2 for times in counts.values())
    assert len(counts) == 96 and max(counts.values()) <= 2
    assert ("each of the 96 samples counts once." in words) == (twice == 0)
    assert twice == 0 or f"In the end {twice} of 96 samples count twice" in words
    every, sigterm = picture.values["every"], picture.values["sigterm"]
    saves = [step for step in range(1, killed + 1) if step % every == 0 or (sigterm and step == killed)]
    assert picture.svg.count("<polygon") == picture.svg.count(">saved<") == len(saves)


def test_every_box_is_that_of_a_run_played_by_hand():
    for picture in corners(KilledRun()):
        assert_shown(picture)
    for before, after in product(range(1, 5), repeat=2):
        assert_shown(KilledRun(before, after))
    for every, forgets, sigterm, killed in product((1, 2, 3, 5, 8), (False, True), (False, True), range(1, 8)):
        assert_shown(KilledRun(4, 3, every, forgets, sigterm, killed))


@pytest.mark.parametrize("forgets", [False, True])
def test_what_is_filled_counts_once_unless_the_place_is_forgotten(forgets):
    for before, after, every, killed in product(range(1, 5), range(1, 5), (1, 3, 8), (1, 4, 7)):
        runs = drawn(KilledRun(before, after, every, forgets, killed=killed))
        filled = Counter(sample for run in runs for sample in run if run[sample][0] is not None and not run[sample][1])
        saved = killed - killed % every
        assert filled == Counter(range(96)) + Counter(chain(*by_hand()[: saved if forgets else 0]))


class Watched(Training):
    """Lesson 6's training, which notes what each step reads."""

    def backward(self, images, labels) -> None:
        self.reads.append(images[:, 0, 0, 0].int().tolist())
        super().backward(images, labels)


def training_on(rank: int, world_size: int, last: int, state: dict | None) -> tuple[list, dict]:
    """Train up to a step; return what each step has read, and the state then."""
    numbers = torch.arange(96)
    samples = InMemory(numbers.float().view(96, 1, 1, 1).expand(96, 1, 28, 28), numbers % 10)
    training = Watched(build_model("linear"), samples, RUN, torch.device("cpu"), rank, world_size)
    training.reads = []
    if state:
        training.load_state_dict(state)
        training.reads.clear()  # of the batch that is thrown away
    for step in training.rest_of_epoch():
        if step == last:
            break
    return training.reads, training.state_dict()


@pytest.mark.parametrize("before, after", [(4, 2), (2, 3)])
def test_lesson_6_reads_on_real_ranks_what_is_drawn(before, after):
    first, again = drawn(KilledRun(before, after, every=3, killed=7))
    results = run_ranks(before, training_on, 6, None)
    assert_read_by(first, [reads for reads, _ in results])
    results = run_ranks(after, training_on, 8, results[0][1])
    assert_read_by(again, [reads for reads, _ in results])


def assert_read_by(boxes: dict, reads: list[list[list[int]]]) -> None:
    """Assert that the filled boxes are those of the samples that each rank has read, in the order of its steps."""
    for rank, steps in enumerate(reads):
        filled = [sample for sample, (reader, lost, _) in boxes.items() if reader == rank and not lost]
        assert filled == list(chain(*steps)) != []


def test_the_readers_random_numbers_go_on_as_if_nothing_was_drawn():
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    steps_left.cache_clear()
    KilledRun(3, 3, 2, killed=5)
    assert torch.equal(torch.rand(3), wanted)
