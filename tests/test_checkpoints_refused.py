"""Checkpoints that are whole and not for us: each is refused in one sentence, which names the one before it."""

import io
import pickle
import random
from pathlib import Path

import pytest
import torch
from states import find, state

from ddp_lessons.blocks.checkpoint import checksum, write_checkpoint
from ddp_lessons.blocks.checkpoint import read_state as read
from ddp_lessons.blocks.model import build_model


def saved(value) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def put(folder, content: bytes) -> str:
    """Lay a file beside the checkpoints that is newer than they are, with the right checksum in its name."""
    path = f"{folder}/epochs-0000-steps-000000009-{checksum(content)}.pth"
    Path(path).write_bytes(content)
    return path


class Code:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


CNN = build_model("cnn").state_dict()
NONE = "is no checkpoint of a training"
MORE = "holds more than tensors and numbers, which could be code: none of it was run"
UNFIT = {
    "another model": (state(weights=CNN), "is of another model"),
    "a newer version": (state(version=2), "is of version 2, and this program reads version 1: use a newer one"),
    "a whole model": (build_model("linear"), MORE),
    "weights": (CNN, NONE),
    "a list": ([1, 2], NONE),
    "a version that is a word": ({"version": "1"}, NONE),
}


@pytest.mark.parametrize("name", UNFIT)
def test_one_that_is_not_for_us_is_refused_and_the_one_before_named(name, tmp_path):
    value, words = UNFIT[name]
    refused(tmp_path, saved(value), words)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("content", [b"", b"text\n" * 99, bytes(999), pickle.dumps({"version": 1})[:-5]], ids=len)
def test_garbage_with_the_right_checksum_is_refused(content, tmp_path):
    refused(tmp_path, content, f"({NONE}|{MORE})")


def refused(folder, content: bytes, words: str) -> None:
    before = write_checkpoint(state(step=1), str(folder), keep=3)
    path = put(folder, content)
    with pytest.raises(SystemExit, match=f"^{path} {words}; before it there is {before}$"):
        find(folder)
    assert Path(path).read_bytes() == content  # nothing is lost by it


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_any_garbage_is_refused_with_a_value_error():
    places = random.Random(0)
    for length in range(1, 500):
        with pytest.raises(ValueError, match=f"^({NONE}|{MORE})$"):
            read(places.randbytes(length))


def test_code_in_a_checkpoint_is_not_run(tmp_path):
    traces = tmp_path / "traces"
    torch.load(io.BytesIO(saved(state(scheduler=Code(traces)))), weights_only=False)
    assert traces.exists(), "else it were no wonder"
    traces.unlink()
    refused(tmp_path, saved(state(scheduler=Code(traces))), MORE)
    assert not traces.exists()


@pytest.mark.parametrize(
    ("run", "words"),
    [({"lr": 0.02, "seed": 3}, "--lr 0.01, --seed 0")]
    + [({"samples": 99}, "--samples left out"), ({"one_more": 1}, "--one-more left out")],
)
def test_one_of_another_run_is_refused_with_what_differs(run, words, tmp_path):
    path = write_checkpoint(state(), str(tmp_path), keep=3)
    with pytest.raises(SystemExit) as refusal:
        find(tmp_path, **run)
    assert str(refusal.value) == f"{path} is of a run with {words}: give the same, or another --checkpoints"


def test_ranks_that_cannot_share_a_step_equally_are_refused(tmp_path):
    path = write_checkpoint(state(), str(tmp_path), keep=3)
    with pytest.raises(SystemExit, match=f"^{path} has 64 samples a step: 3 ranks cannot share them equally$"):
        find(tmp_path, world_size=3)


def test_checkpoints_are_not_written_over_unasked(tmp_path):
    write_checkpoint(state(), str(tmp_path), keep=3)
    words = f"^{tmp_path} holds checkpoints: add --resume auto, or give another --checkpoints$"
    with pytest.raises(SystemExit, match=words):
        find(tmp_path, resume=None)
