"""However ranks or their notebook end, no process stays: real kills, and a mark in the environment to find all by."""

import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from notebook import Notebook, opened
from ranks import gone, processes_with
from slow import slow

SLEEPER = "\nimport subprocess\nsubprocess.Popen(['sleep', '1000'])"  # for DataLoader workers, and whatever else


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("notebook")) as notebook:
        yield notebook


def ended(notebook, kernels=1, seconds=30):
    """Tell whether soon no process is left but the notebook's kernel and its fork servers."""
    deadline = time.monotonic() + seconds
    while len(processes_with(notebook.mark)) > 3 * kernels and time.monotonic() < deadline:
        time.sleep(0.05)
    return len(processes_with(notebook.mark)) == 3 * kernels


def pids_of(notebook):
    return list(map(int, re.findall(r"process (\d+)", notebook.run("%ranks status"))))


def some_rounds(folder, rounds):
    with opened(folder) as notebook:
        for turn in range(rounds):
            stop = threading.Timer(turn / 4, notebook.manager.interrupt_kernel)
            if turn % 2:  # the stop button, at any moment while ranks start
                stop.start()
            notebook.run(f"%%ranks {1 + turn % 4 // 2}\npass")
            stop.cancel()
            assert notebook.succeeded or notebook.error[0].startswith("Interrupted") and turn % 2
            if turn % 3 == 2:
                notebook.restart()
            else:
                notebook.run("%ranks stop")
            assert ended(notebook), turn
    assert ended(notebook, kernels=0)


@pytest.mark.parametrize("rounds", [1, slow(10)])
def test_rounds_of_two_notebooks_leave_nothing(rounds, tmp_path):
    with ThreadPoolExecutor() as pool:
        list(pool.map(some_rounds, [tmp_path, tmp_path], [rounds, rounds]))


def test_rank_killed_while_idle(notebook):
    notebook.run("%%ranks 2" + SLEEPER)
    os.kill(pids_of(notebook)[1], signal.SIGKILL)
    assert ended(notebook)
    assert notebook.run("%ranks status") == "no ranks: rank 1 had ended\n"
    output = notebook.run("%%ranks\n'next'")
    assert output == "rank 1 had ended: fresh ranks, without variables\nrank 0: 'next'\nrank 1: 'next'\n"


def test_rank_killed_in_a_cell(notebook):
    notebook.start_group()
    pid = pids_of(notebook)[1]
    threading.Timer(1, os.kill, [pid, signal.SIGKILL]).start()
    notebook.run("%%ranks" + SLEEPER + "\nif dist.get_rank() == 0: dist.recv(torch.ones(1))\nwhile True: pass")
    assert notebook.error[0].startswith("Rank 1 has ended, and 3 s later rank 0 waits in recv, cell line 4: all ranks")
    assert ended(notebook)
    assert notebook.works()


def test_restart_while_ranks_are_stuck(notebook):
    notebook.start_group()
    notebook.client.execute("%%ranks" + SLEEPER + "\ndist.recv(torch.ones(1))")
    time.sleep(1)
    notebook.restart()
    assert ended(notebook)


def test_unloading_ends_even_what_ignores_sigterm(notebook):
    notebook.run("%%ranks 1\nimport signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)" + SLEEPER)
    notebook.run("%unload_ext ddp_lessons")
    assert ended(notebook)


def test_stop_ends_what_a_rank_has_started_in_a_session_of_its_own(notebook):
    notebook.run(f"%%ranks 2{SLEEPER.replace('])', '], start_new_session=True)')}")
    assert len(processes_with(notebook.mark)) == 7  # besides two ranks, and what each has started
    notebook.run("%ranks stop")
    assert len(processes_with(notebook.mark)) == 3


def test_shutting_down_ends_the_ranks(tmp_path):
    notebook = Notebook(tmp_path)
    notebook.run("%%ranks 1" + SLEEPER)
    notebook.manager.shutdown_kernel()
    assert ended(notebook, kernels=0)


@pytest.mark.slow
def test_killing_the_kernel_ends_the_ranks(tmp_path):
    notebook = Notebook(tmp_path)
    notebook.run("%%ranks 2\npass")
    os.kill(notebook.manager.provisioner.process.pid, signal.SIGKILL)
    assert gone(notebook.mark)
    notebook.manager.shutdown_kernel(now=True)
