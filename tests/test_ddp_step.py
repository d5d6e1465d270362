"""A recorded DDP step tells the truth, and its picture says what was recorded."""

import re
import time
from pathlib import Path

import pytest
import torch
from drawn import assert_looks
from ranks import run_ranks
from slow import slow
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.model import build_model
from ddp_lessons.workbench.pictures.ddp_step import DDPStep
from ddp_lessons.workbench.scripts import Refused
from ddp_lessons.workbench.step_record import SIZES, record_run, record_steps

DATA = str(Path(__file__).parents[1] / "data")
# counted by hand from the layers' shapes: 9 has 1,280 + 10 weights, 7 401,408 + 128, 3 18,432 + 64, 0 288 + 32
BUCKETS = {2: [421642], 1: [402826, 18816], 0.05: [402826, 18432, 384], 0.001: [1290, 401536, 18432, 352, 32]}


def on_rank(rank, world_size):
    return record_steps(folder=DATA)


def batches_of(rank, world_size, steps=2):
    images, labels = load_mnist(DATA, train=True, samples=32 * steps * world_size).tensors
    return list(zip(images[rank::world_size].double().split(32), labels[rank::world_size].split(32), strict=True))


def with_and_without_notes(rank, world_size, bucket_mb):
    """Return the gradients that recorded steps leave, and those of plain DDP, as two vectors."""
    batches, gradients = batches_of(rank, world_size), []
    for noted in (True, False):
        torch.manual_seed(rank)  # DDP makes the weights equal
        model = build_model("cnn").double()
        if noted:
            record_run(model, bucket_mb, batches)
        else:
            wrapped = DDP(model, bucket_cap_mb=bucket_mb)
            for images, labels in batches:
                model.zero_grad()
                nn.functional.cross_entropy(wrapped(images), labels).backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
    return gradients


def with_a_late_rank(rank, world_size, seconds):
    """Return a record where the last rank's backward sleeps before its front layer's gradient is ready."""
    model = build_model("cnn").double()
    if rank == world_size - 1:
        model[0].weight.register_hook(lambda _: time.sleep(seconds))
    return record_run(model, 0.05, batches_of(rank, world_size))


def by_default(rank, world_size):
    return record_run(build_model("cnn").double(), None, batches_of(rank, world_size))


@pytest.fixture(scope="module", params=[1, 2, slow(4), slow(8)], ids="{} ranks".format)
def records(request):
    return run_ranks(request.param, on_rank)


@pytest.fixture(scope="module")
def steps(records):
    return [step for runs in records for run in runs for step in run["steps"]]


def test_every_weight_is_in_one_bucket(steps):
    names = sorted(name for name, _ in build_model("cnn").named_parameters())
    for step in steps:
        assert sorted(each["name"] for each in step["gradients"]) == names
        assert sorted(name for bucket in step["buckets"] for name in bucket["names"]) == names
        assert sum(bucket["numbers"] for bucket in step["buckets"]) == 421642


def test_times_come_in_the_order_of_cause_and_effect(steps):
    for step in steps:
        ready = [each["ready"] for each in step["gradients"]]
        assert [step["began"], *ready, step["returned"]] == sorted([step["began"], *ready, step["returned"]])
        for bucket in step["buckets"]:
            last = max(each["ready"] for each in step["gradients"] if each["name"] in bucket["names"])
            assert last < bucket["begun"] < bucket["done"] < step["returned"]


def test_no_all_reduce_is_done_before_all_ranks_have_begun_it(records):
    """This compares the clocks of processes as well."""
    for runs in zip(*records, strict=True):
        for ranks in zip(*(run["steps"] for run in runs), strict=True):
            for same in zip(*(step["buckets"] for step in ranks), strict=True):
                assert max(bucket["begun"] for bucket in same) < min(bucket["done"] for bucket in same)


def test_the_first_step_has_one_bucket_and_later_ones_have_the_last_layers_first(records):
    for runs in records:
        assert [run["bucket_mb"] for run in runs] == list(SIZES) == list(BUCKETS)
        for run in runs:
            first, *later = run["steps"]
            assert [bucket["numbers"] for bucket in first["buckets"]] == [421642]
            for step in later:
                assert [bucket["numbers"] for bucket in step["buckets"]] == BUCKETS[run["bucket_mb"]]
                layers = [name.split(".")[0] for bucket in step["buckets"] for name in bucket["names"]]
                assert layers == ["9", "9", "7", "7", "3", "3", "0", "0"]


def test_the_default_size_makes_the_buckets_that_1_mb_makes():
    for steps in run_ranks(2, by_default):
        assert [bucket["numbers"] for bucket in steps[-1]["buckets"]] == BUCKETS[1]


@pytest.mark.parametrize("bucket_mb", [1, 0.001])
@pytest.mark.parametrize("ranks", [2, slow(4)])
def test_notes_leave_the_gradients_as_they_are(ranks, bucket_mb):
    """Bit for bit: both divide by a power of two."""
    for noted, plain in run_ranks(ranks, with_and_without_notes, bucket_mb):
        assert torch.equal(noted, plain) and plain.abs().max() > 1e-3


@pytest.mark.parametrize("ranks", [2, slow(4)])
def test_a_late_rank_is_waited_for(ranks):
    *others, late = run_ranks(ranks, with_a_late_rank, 0.3)
    for step, its in ((step, late[number]) for steps in others for number, step in enumerate(steps)):
        assert step["buckets"][-1]["done"] - its["began"] > 0.3


def test_every_step_of_every_rank_is_drawn(records):
    picture = DDPStep(records)
    rank, size, step = picture.controls.values()
    assert (rank.max, size.max, step.max) == (len(records) - 1, 4, 4)
    for rank.value in range(len(records)):
        for size.value in range(1, 5):
            for step.value in range(1, 5):
                shown = f"Rank {rank.value}, step {step.value}, buckets of {SIZES[size.value - 1]:g} MB: "
                assert picture.words.startswith(shown)
                assert_looks(picture)
                for name, _ in build_model("cnn").named_parameters():
                    assert f">{name}</text>" in picture.svg


def by_hand():
    """A step of two ranks that ends after 5.06 ms, so that the picture has 100 points for each of them."""
    step = {
        "began": 7.0, "returned": 7.00506,
        "gradients": [{"name": "b", "ready": 7.001}, {"name": "a", "ready": 7.003}],
        "buckets": [
            {"names": ["b"], "numbers": 250_000, "begun": 7.001, "done": 7.004},
            {"names": ["a"], "numbers": 25, "begun": 7.003, "done": 7.005},
        ],
    }  # fmt: skip
    other = step | {"began": 7.0005, "gradients": [{"name": "b", "ready": 7.001}, {"name": "a", "ready": 7.0025}]}
    return [[{"bucket_mb": 1, "steps": [each]}] for each in (step, other)]


def test_words_and_bars_say_what_was_recorded():
    """Hidden: 1 to 3 ms. Waited for: 3 to 5 ms, once, though two all-reduces run until 4 ms."""
    picture = DDPStep(by_hand())
    assert picture.words == (
        "Rank 0, step 1, buckets of 1 MB: backward computed for 3.0 ms, and returned 2.1 ms later. 2 all-reduces took "
        "4.0 ms in all, overlaps counted once, 2.0 ms of it (50 %) hidden behind backward, 2.0 ms waited for. "
        "It computed last. "
        "Gradients in bucket 0: b; in bucket 1: a."
    )
    boxes = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"(.*?)/>', picture.svg)
    bars = [[float(x), float(width), "dash" in rest] for x, width, rest in boxes if float(x) >= 134]
    backward, other = [[134, 300, False], [434, 206, True]], [[184, 200, False], [384, 256, True]]
    buckets = [[234, 200, False], [434, 100, True], [434, 200, True]]
    assert torch.allclose(torch.tensor(bars), torch.tensor([*backward, *buckets, *other], dtype=torch.float), atol=0.01)
    for label in ("bucket 0: 1,000.0 kB", "2.0 + 1.0 ms", "bucket 1: 0.1 kB", "0.0 + 2.0 ms", "2.0 + 2.6 ms"):
        assert f">{label}</text>" in picture.svg


def test_what_is_waited_for_counts_from_the_rank_that_is_picked():
    picture = DDPStep(by_hand())
    picture.controls["rank"].value = 1
    assert "1.5 ms of it (38 %) hidden behind backward, 2.5 ms waited for" in picture.words
    assert "The last to compute was rank 0, 0.5 ms after this one" in picture.words


@pytest.mark.parametrize(
    "wrong",
    [None, 3, "records", [], {}, [[]], [None], by_hand()[0], by_hand() * 5, [*by_hand(), []]]
    + [[[{"bucket_mb": 1, "steps": []}]], [[{"bucket_mb": 1, "steps": [{"began": 1, "returned": 2}]}]]],
    ids=repr,
)
def test_what_is_no_record_is_refused_in_a_sentence(wrong):
    with pytest.raises(Refused, match="^DDPStep draws what on_ranks.*one to eight ranks: this is something else$"):
        DDPStep(wrong)
