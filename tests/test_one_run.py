"""One run in a folder, and one sentence for all its ranks."""

import contextlib
import io
import os
import time
from pathlib import Path

import torch.distributed as dist
from ranks import run_all, run_ranks, start

from ddp_lessons.blocks.lock import lock_folder
from ddp_lessons.blocks.ranks import from_rank_0


def answers_of_rank_0(rank, world_size):
    """Return what comes of a value on rank 0, then how each rank ends where there is a sentence instead."""
    value = from_rank_0(lambda: {"from": dist.get_rank()})
    try:
        from_rank_0(lambda: (_ for _ in ()).throw(SystemExit("it is so")))
    except SystemExit as end:
        return value, end.code


def test_a_sentence_on_rank_0_ends_all_ranks():
    everyones = run_ranks(3, answers_of_rank_0)
    assert everyones == [({"from": 0}, "it is so"), ({"from": 0}, 1), ({"from": 0}, 1)]


def hold(folder):
    lock_folder(folder)
    Path(folder, "held").touch()
    time.sleep(300)


def get(folder, seconds):
    """Return what is said on the way to the lock, and the sentence if it is not got."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            lock_folder(folder, seconds)
        except SystemExit as refusal:
            return printed.getvalue(), str(refusal)
        return printed.getvalue(), None


def test_a_folder_is_one_run_s_until_its_process_ends(tmp_path):
    folder = str(tmp_path)
    _, owner = start((hold, folder))
    try:
        deadline = time.monotonic() + 300
        while not (tmp_path / "held").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        [(printed, refusal)] = run_all([(get, folder, 1)])
        name = f"{folder} is in use by process {owner.pid} on {os.uname().nodename}"
        assert printed == f"{name}: waiting up to 1 s for its end\n"
        assert refusal == f"{name}: end that, or give another folder"
        answer, patient = start((get, folder, 20))
        owner.kill()
        assert answer.poll(300), "it waits for a process that has ended"
        patient.join(300)
    finally:
        owner.kill()
    [(printed, refusal)] = run_all([(get, folder, 1)])
    assert (printed, refusal) == ("", None)
