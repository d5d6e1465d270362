"""`on_ranks`: a reader's function on real ranks, its results by rank, and one sentence for whatever goes wrong."""

import os
import re
import signal
import threading
import time

import pytest
from notebook import Notebook, opened
from ranks import gone, processes_with

IMPORTS = """
import torch
import torch.distributed as dist
from ddp_lessons.workbench import on_ranks
"""
HELPERS = """\
import math as m
from ddp_lessons.blocks.ranks import gather

def squared(x):
    return m.pow(x, 2)

def take():
    dist.recv(torch.ones(1))
"""
PROCESS = "import os\ndef process():\n    return os.getpid()"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("notebook")) as notebook:
        notebook.run(IMPORTS)
        notebook.run(HELPERS)
        notebook.helpers = notebook.number
        yield notebook


def pids(notebook, ranks):
    notebook.run(PROCESS)
    return eval(notebook.run(f"print(on_ranks({ranks}, process))"))


def test_results_come_by_rank_from_a_function_with_helpers_and_imports_of_other_cells(notebook):
    notebook.run(
        "def f(x):\n    total = torch.tensor(dist.get_rank())\n    dist.all_reduce(total)\n"
        "    return [squared(x + dist.get_rank()), total, gather(dist.get_rank())]"
    )
    assert (
        notebook.run("print(on_ranks(3, f, 1))") == "[[1.0, 3, [0, 1, 2]], [4.0, 3, [0, 1, 2]], [9.0, 3, [0, 1, 2]]]\n"
    )


def test_arguments_are_what_json_holds_or_functions_and_classes_of_the_readers(notebook):
    notebook.run("class Box:\n    def __init__(self, inside):\n        self.inside = inside")
    notebook.run("def f(box, function, given):\n    return function(box(given).inside['a'][1])")
    assert notebook.run("print(on_ranks(1, f, Box, squared, {'a': [1, 3]}))") == "[9.0]\n"
    assert notebook.run("print(on_ranks(2, max, 3, 4))") == "[4, 4]\n"


def test_names_of_ours_hide_nothing_of_the_readers(notebook):
    notebook.run("def json():\n    return 'mine'\ndef answer():\n    return json()")
    assert notebook.run("print(on_ranks(2, answer))") == "['mine', 'mine']\n"


def test_what_ranks_print_has_their_label(notebook):
    notebook.run("def f():\n    print('hello')")
    assert notebook.run("print(on_ranks(2, f))") == "rank 0: hello\nrank 1: hello\n[None, None]\n"


def test_ranks_live_on_from_call_to_call_but_not_what_a_call_has_defined(notebook):
    four = pids(notebook, 4)
    assert len(set(four)) == 4 and pids(notebook, 2) == four[:2] and pids(notebook, 4) == four
    notebook.run("def f():\n    globals()['left'] = 1")
    notebook.run("def g():\n    return 'left' in globals()")
    notebook.run("on_ranks(2, f)")
    assert notebook.run("print(on_ranks(2, g))") == "[False, False]\n"
    assert len(set(pids(notebook, 5)) & set(four)) == 0


def test_a_failure_shows_the_readers_lines_in_their_cells_and_no_others(notebook):
    notebook.run("# one\n\ndef f():\n    return squared('x')")
    number = notebook.number
    said = notebook.run("on_ranks(2, f)")
    assert (
        f"Cell In[{number}], line 4, in f()" in said and f"Cell In[{notebook.helpers}], line 5, in squared(x)" in said
    )
    assert "File " not in said and "In[0]" not in said
    assert notebook.error == ["ranks 0 and 1 failed: TypeError: must be real number, not str"]


def test_one_rank_fails_while_the_others_wait(notebook):
    notebook.run("def f():\n    if dist.get_rank() == 1:\n        raise ValueError('no')\n    dist.barrier()")
    notebook.run("on_ranks(3, f)")
    assert notebook.error == ["rank 1 failed: ValueError: no"]


def test_where_ranks_hang_is_told_by_cell_and_line_and_fresh_ones_come(notebook):
    before = pids(notebook, 2)
    notebook.run("# one\n\ndef f():\n    if dist.get_rank():\n        take()")
    notebook.run("on_ranks(2, f, timeout=2)")
    waits = f"rank 1 waits in recv, cell {notebook.helpers} line 8"
    assert notebook.error == [f"after 2 s, rank 0 has returned; {waits}"]
    after = pids(notebook, 2)
    assert len(set(before + after)) == 4


def test_a_rank_that_waits_for_a_handle_is_told_from_one_that_computes(notebook):
    notebook.run(
        "def f():\n    if dist.get_rank():\n        while True: pass\n"
        "    handle = dist.irecv(torch.ones(1), 1)\n    handle.wait()"
    )
    notebook.run("on_ranks(2, f, timeout=2)")
    cell = f"cell {notebook.number - 1} line"
    assert notebook.error == [f"after 2 s, rank 0 waits in wait, {cell} 5; rank 1 is at {cell} 3"]


def test_an_endless_recursion_is_told_in_a_few_lines(notebook):
    notebook.run("def f():\n    return f()")
    said = notebook.run("on_ranks(2, f)")
    assert notebook.error == ["ranks 0 and 1 failed: RecursionError: maximum recursion depth exceeded"]
    assert "calls in the middle are left out" in said and 10 < said.count("\n") < 60


def test_a_rank_that_is_killed(notebook):
    notebook.run(
        "import os, signal\ndef f():\n    if dist.get_rank():\n        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    dist.barrier()"
    )
    notebook.run("on_ranks(2, f)")
    assert notebook.error == ["rank 1 has ended"]
    assert len(pids(notebook, 2)) == 2


def test_the_stop_button(notebook):
    notebook.run("import time\ndef f():\n    time.sleep(60)")
    stop = threading.Timer(3, notebook.manager.interrupt_kernel)
    stop.start()
    notebook.run("on_ranks(2, f)")
    assert notebook.error == ["interrupted"]
    assert len(pids(notebook, 2)) == 2


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("0, squared, 2", "0 ranks cannot be started: give a whole number from 1 to 16"),
        ("100, squared, 2", "100 ranks cannot be started: .*"),
        ("2.0, squared, 2", "2.0 ranks cannot be started: .*"),
        ("'two', squared, 2", "'two' ranks cannot be started: .*"),
        ("squared, 2", "<function squared at .* ranks cannot be started: .*"),
        ("2, squared(2)", "4.0 is no function: .*"),
        ("2, lambda: 3", "the ranks cannot run <lambda>: it is not defined under that name at the top level of a cell"),
        ("2, inner", "the ranks cannot run inner: it is not defined under that name .*"),
        ("2, box.open", "the ranks cannot run <bound method .*: give a function of a cell, or one .*"),
        ("2, looks", "the ranks cannot run looks: a script cannot see LIMIT, which the notebook holds: .*"),
        ("2, mistyped", "the ranks cannot run mistyped: nothing is called sqared"),
        ("2, squared, torch.ones(2)", r"the ranks can be given numbers, words, lists and dicts, but not tensor\(.*"),
        ("2, squared, {1, 2}", "the ranks can be given .*, but not {1, 2}"),
        ("2, squared, 2, timeout=0", "timeout=0: give a number of seconds above 0"),
        ("2, squared, 2, timeout='x'", "timeout='x': .*"),
    ],
)
def test_bad_arguments_are_one_sentence(notebook, call, why):
    notebook.run("def outer():\n    def inner(): return 1\n    return inner\ninner = outer()\nLIMIT = 3")
    notebook.run("def looks(): return LIMIT\ndef mistyped(): return sqared(2)")
    notebook.run("class Box:\n    def open(self): return 1\nbox = Box()")
    assert notebook.run(f"on_ranks({call})") == "" and len(notebook.error) == 1
    assert re.fullmatch(f"Refused: {why}", notebook.error[0])


@pytest.mark.slow
def test_shutting_down_ends_the_ranks(tmp_path):
    with opened(tmp_path) as notebook:
        notebook.run(IMPORTS + PROCESS)
        notebook.run("on_ranks(2, process)")
        assert len(processes_with(notebook.mark)) == 5  # the notebook's kernel, two fork servers, two ranks
        notebook.manager.shutdown_kernel()
        assert gone(notebook.mark)


def test_killing_the_kernel_in_a_call_ends_the_ranks(tmp_path):
    notebook = Notebook(tmp_path)
    notebook.run(IMPORTS + "import time\ndef f():\n    time.sleep(60)\ndef g():\n    pass")
    notebook.run("on_ranks(2, g)")
    notebook.client.execute("on_ranks(2, f)")
    time.sleep(1)
    os.kill(notebook.manager.provisioner.process.pid, signal.SIGKILL)
    assert gone(notebook.mark)
    notebook.manager.shutdown_kernel(now=True)
