"""A cell that cannot go on: it comes back, says which rank waits where, and the notebook lives on."""

import threading

import pytest
from notebook import opened

ENDED = ": all ranks were ended, and the next %%ranks starts fresh ones, without variables."
LIVE = ": the ranks live on, with their variables."


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("notebook")) as notebook:
        notebook.run("mine = 7")
        yield notebook


def stop_after(notebook, seconds):
    threading.Timer(seconds, notebook.manager.interrupt_kernel).start()


def test_collectives_that_do_not_match_one_of_them_in_a_function_of_an_earlier_cell(notebook):
    notebook.start_group()
    notebook.run("%%ranks\ndef fetch(x):\n    dist.broadcast(x, src=1)\n    return x")
    earlier = notebook.number
    notebook.run(
        "%%ranks --timeout 1\nx = torch.ones(4)\n\nif dist.get_rank() == 0:\n    fetch(x)\nelse:\n    dist.barrier()"
    )
    places = f"rank 0 waits in broadcast, cell {earlier} line 3; rank 1 waits in barrier, cell line 7"
    assert notebook.error == [f"After 1 s, {places}{ENDED}"]
    assert notebook.works() and notebook.run("print(mine)") == "7\n"


def test_backward_of_one_rank_only_below_another_magic(notebook):
    notebook.start_group()
    notebook.run("%%ranks\nmodel = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))\nx = torch.ones(1)")
    notebook.run("%%ranks --timeout 1\n%%time\nif dist.get_rank() == 1:\n    model(x).backward()")
    places = "rank 1 waits in backward, %%time line 2; rank 0 is done with the cell"
    assert notebook.error == [f"After 1 s, {places}{ENDED}"]


def test_one_fails_while_another_waits_for_it(notebook):
    notebook.start_group()
    output = notebook.run("%%ranks\nif dist.get_rank() == 1:\n    1 / 0\ndist.barrier()")
    assert "rank 1 failed:\n" in output and "ZeroDivisionError" in output
    assert notebook.error == ["Rank 1 failed, and 3 s later rank 0 waits in barrier, cell line 4" + ENDED]


def test_interrupt_of_ranks_that_compute(notebook):
    notebook.run("%%ranks 2\nkept = 5")
    stop_after(notebook, 1)
    notebook.run("%%ranks --only 1\nwhile True: pass")
    assert notebook.error == ["Interrupted, while rank 1 is at cell line 2; rank 0 is left out" + LIVE]
    assert notebook.run("%%ranks\nkept") == "rank 0: 5\nrank 1: 5\n"


def test_interrupt_of_ranks_that_wait_and_again_meanwhile(notebook):
    notebook.start_group()
    for seconds in [1, 1.1, 2, 2.5]:
        stop_after(notebook, seconds)
    notebook.run("%%ranks\nx = torch.ones(1)\ndist.recv(x)")
    assert notebook.error == ["Interrupted, while ranks 0 and 1 wait in recv, cell line 3" + ENDED]
    assert notebook.works()
