"""Checkpoints as they come back from a bad day: cut short, flipped, on a full disk; the good one before is used."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from small_disk import small_disk
from states import find, state
from torch import nn

from ddp_lessons.blocks.checkpoint import bare_weights, checkpoints, newest_checkpoint, write_checkpoint
from ddp_lessons.blocks.checkpoint import read_state as read
from ddp_lessons.blocks.model import build_model
from ddp_lessons.workbench.killing import same_state

# what is whole


def test_what_is_written_is_what_comes_back(tmp_path, capsys):
    written = state(step=7)
    path = write_checkpoint(written, str(tmp_path), keep=3)
    assert path.startswith(f"{tmp_path}/epochs-0000-steps-000000007-") and checkpoints(str(tmp_path)) == [path]
    assert os.listdir(tmp_path) == [os.path.basename(path)]
    assert same_state(find(tmp_path), written) and not same_state(state(step=8), written)
    assert capsys.readouterr().out.startswith("resumed at step 7, written by 2 ranks")


def test_the_last_ones_stay(tmp_path):
    folder = tmp_path / "a [b]*"  # a name that glob would read otherwise
    folder.mkdir()
    done = [(0, 1), (0, 99), (0, 100), (1, 100), (9, 1000), (10, 1001)]
    paths = [write_checkpoint(state(step, epoch), str(folder), keep=3) for epoch, step in done]
    assert checkpoints(str(folder)) == paths[-3:] and len(os.listdir(folder)) == 3
    assert newest_checkpoint(str(folder))[0] == paths[-1]


def test_what_a_killed_write_left_does_no_harm(tmp_path):
    (tmp_path / "partial").write_bytes(b"half of a checkpoint")
    assert newest_checkpoint(str(tmp_path)) == (None, b"")
    path = write_checkpoint(state(step=6), str(tmp_path), keep=3)
    assert newest_checkpoint(str(tmp_path))[0] == path and not (tmp_path / "partial").exists()


@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.", "_orig_mod.module.", "module._orig_mod."])
def test_weights_are_found_under_the_names_that_wrappers_give(prefix, tmp_path):
    bare = build_model("linear").state_dict()
    weights = {prefix + name: weight for name, weight in bare.items()}
    write_checkpoint(state(weights=weights), str(tmp_path), keep=3)
    assert same_state(bare_weights(find(tmp_path)["model"]), dict(bare))


def test_a_part_of_the_model_may_be_named_as_a_wrapper_names_it():
    names = nn.ModuleDict({"module": nn.Linear(1, 1), "head": nn.Linear(1, 1)}).state_dict()
    assert bare_weights(names).keys() == names.keys()


# what is damaged


@pytest.mark.parametrize("length", [0, 1, 100, 4096, 40000, -1])
def test_of_one_cut_short_the_one_before_is_used(length, tmp_path, capsys):
    before = write_checkpoint(state(step=1), str(tmp_path), keep=3)
    path = write_checkpoint(state(step=2), str(tmp_path), keep=3)
    content = Path(path).read_bytes()[:length]
    Path(path).write_bytes(content)
    assert find(tmp_path)["step"] == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{path} is not what was written ({len(content)} bytes): set aside, the one before is tried"
    assert second.startswith("resumed at step 1, written by 2 ranks")
    assert checkpoints(str(tmp_path)) == [before] and Path(f"{path}.damaged").read_bytes() == content


def test_one_flipped_bit_is_seen_wherever_it_is(tmp_path):
    before = write_checkpoint(state(step=1), str(tmp_path), keep=3)
    path = Path(write_checkpoint(state(step=2), str(tmp_path), keep=3))
    good, places, unseen = path.read_bytes(), random.Random(0), 0
    for _ in range(200):
        content = bytearray(good)
        content[places.randrange(len(good))] ^= 1 << places.randrange(8)
        path.write_bytes(content)
        assert newest_checkpoint(str(tmp_path))[0] == before
        unseen += loads(content)
    assert unseen > 150, "if torch.load saw it, there were no need of a checksum"
    path.write_bytes(good)
    assert newest_checkpoint(str(tmp_path)) == (str(path), good)


def loads(content) -> bool:
    try:
        return bool(read(bytes(content)))
    except ValueError:
        return False


def test_where_none_is_whole_there_is_none(tmp_path, capsys):
    for step in (1, 2):
        Path(write_checkpoint(state(step=step), str(tmp_path), keep=3)).write_bytes(b"")
    assert find(tmp_path) is None
    *damaged, last = capsys.readouterr().out.splitlines()
    assert len(damaged) == 2 and last == f"no checkpoint in {tmp_path}: begins at step 0"


# the disk


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SystemExit, match=f"^no checkpoints can be kept in '{tmp_path}/file/folder': .*Not a directory"):
        find(tmp_path / "file" / "folder")


def test_one_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "epochs-0000-steps-000000001-0000000000000000.pth").mkdir()
    with pytest.raises(SystemExit, match=f"^a checkpoint in {tmp_path} cannot be read: .*Is a directory: .*00.pth'$"):
        find(tmp_path)


def fill(folder: str) -> None:
    """Write checkpoints until the disk is full, make it read-only, write once more; print what was said and is left."""
    try:
        for step in range(1, 99):
            kept = write_checkpoint(state(step), folder, keep=99)
    except SystemExit as full:
        print(step, full)
    left = checkpoints(folder)
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True, timeout=10)
    try:
        write_checkpoint(state(99), folder, keep=1)
    except SystemExit as read_only:
        print(99, read_only)
    path, content = newest_checkpoint(folder)
    print(len(left), path == kept and checkpoints(folder) == left, read(content)["step"])


def test_a_disk_that_takes_no_more_loses_nothing(tmp_path):
    folder = str(tmp_path / "disk")
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with small_disk(tmp_path / "disk", "512k") as inside:
        command = [*inside, sys.executable, "-c", f"import test_checkpoints; test_checkpoints.fill({folder!r})"]
        ran = subprocess.run(command, check=True, env=environment, capture_output=True, text=True, timeout=600)
    full, read_only, left = ran.stdout.splitlines()
    step = int(full.split()[0])
    assert step > 3 and left == f"{step - 1} True {step - 1}"
    words = f"no checkpoint of step {{}} in {folder}, older ones are kept: [Errno {{}}]"
    assert full.startswith(f"{step} {words.format(step, 28)} No space left on device")
    assert read_only.startswith(f"99 {words.format(99, 30)} Read-only file system")
