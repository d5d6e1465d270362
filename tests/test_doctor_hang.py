"""When the doctor says that a run hangs, and when it only notes that a rank waits; what it says where a rank fails."""

import pytest
from examined import examined, heard
from slow import slow

from ddp_lessons.doctor import hang
from ddp_lessons.doctor.judge import findings, waits

BEGIN = """
import os, sys, time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
"""


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(hang, "STILL", 1)
    monkeypatch.setattr(waits, "LONG", 2)


def looked_at(tmp_path, text, begin=BEGIN, **more):
    """Return the run of a script that begins as all do, whose first line of its own is number 8."""
    script = tmp_path / "script.py"
    script.write_text(f"{begin}#\n{text}\ndist.destroy_process_group()\n")
    return examined(script, **more)


def test_a_rank_that_works_while_others_wait_is_no_hang_but_a_note(tmp_path, soon):
    work = "dist.barrier()\nif rank == 0:\n    dist.get_rank()\n    time.sleep(3)\ndist.barrier()\n"
    run = looked_at(tmp_path, work, ranks=3)
    assert not run.hang and not heard(run)
    (note,) = run.found
    assert note.code == "DDP309" and "waited 3 s in barrier (line 12) for rank 0" in note.text
    assert note.place[1] == 8


def test_a_rank_that_computes_within_a_call_is_no_hang(tmp_path, soon):
    slow = """
class Slow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.BatchNorm1d(2)
    def forward(self, x):
        end = time.monotonic() + 3 * (rank == 1)
        while time.monotonic() < end:
            pass
        return self.inner(x)
model = torch.nn.parallel.DistributedDataParallel(Slow())
for _ in range(2):
    model(torch.randn(4, 2)).sum().backward()
"""
    run = looked_at(tmp_path, slow)
    assert not run.hang and not heard(run)


def test_ranks_that_wait_for_each_other_at_different_lines_hang(tmp_path, soon):
    run = looked_at(tmp_path, "x = torch.ones(2)\nif rank:\n    dist.barrier()\nelse:\n    dist.all_reduce(x)\n")
    assert "rank 0 waits in all_reduce, line 12; rank 1 waits in barrier, line 10" in run.hang
    assert [code for code, _ in heard(run)] == ["DDP301"]


def test_a_rank_whose_process_is_gone_is_waited_for_in_vain(tmp_path, soon):
    begin = BEGIN.replace("\ndist", "\nos.environ['RANK'] != '1' or os._exit(0)\ndist")
    run = looked_at(tmp_path, "", ranks=3, begin=begin)
    assert "rank 1 has ended" in run.hang
    assert [code for code, _ in heard(run)] == ["DDP304"]


@pytest.mark.parametrize("ranks", [2, slow(3)])
def test_what_follows_upon_an_error_is_no_mismatch(tmp_path, soon, ranks):
    fails = "dist.barrier()\nif rank == 1:\n    raise ValueError('bad sample')\ndist.all_reduce(torch.ones(2))\n"
    run = looked_at(tmp_path, fails, ranks=ranks)
    assert not findings(run)


def test_odd_arguments_raise_what_torch_raises(tmp_path, soon):
    odd = """
for call in (lambda: dist.all_reduce("x"), lambda: dist.all_gather(torch.ones(1)), lambda: dist.broadcast()):
    try:
        call()
    except TypeError:
        pass
    else:
        sys.exit("no error")
dist.barrier()
"""
    run = looked_at(tmp_path, odd)
    assert {end["how"] for _, end in run.all("end")} == {"done"} and not heard(run)


@pytest.mark.parametrize("limit", [2, *map(slow, [1, 3])])
def test_a_run_that_is_cut_short_hears_nothing_of_it(tmp_path, soon, limit):
    train = """
model = torch.nn.parallel.DistributedDataParallel(torch.nn.BatchNorm1d(2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
    dist.all_reduce(torch.ones(1))
dist.barrier()
"""
    run = looked_at(tmp_path, train, limit=limit, ranks=3)
    assert not run.hang and not heard(run)
