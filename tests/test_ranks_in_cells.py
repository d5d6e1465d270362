"""`%%ranks`: real kernels, real ranks, real signals."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from jupyter_client.manager import start_new_kernel

from ddp_lessons.workbench.ranks_in_cells import torchrun_environment
from ddp_lessons.workbench.ranks_magic import Page, Screen, named

PIDS = "%%ranks 2\nimport os\nprint(os.getpid())"


class Notebook:
    """A kernel of its own, `%%ranks` loaded: `run(cell)`, then what the cell printed, showed and raised."""

    def __init__(self, folder):
        self.manager, self.client = start_new_kernel(cwd=str(folder))
        self.run("%load_ext ddp_lessons")

    def run(self, cell):
        self.text, self.displayed, self.error = {"stdout": "", "stderr": ""}, [], None
        start = time.monotonic()
        reply = self.client.execute_interactive(cell, output_hook=self._hear, timeout=100)["content"]
        self.seconds = time.monotonic() - start
        self.succeeded, self.number = reply["status"] == "ok", reply["execution_count"]
        return re.sub(r"\x1b\[[0-9;]*m", "", self.text["stdout"])

    def _hear(self, message):
        content = message["content"]
        if message["msg_type"] == "stream":
            self.text[content["name"]] += content["text"]
        elif message["msg_type"] == "display_data":
            self.displayed.append(content["data"])
        elif message["msg_type"] == "error":
            self.error = content["traceback"]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    notebook = Notebook(tmp_path_factory.mktemp("notebook"))
    yield notebook
    notebook.manager.shutdown_kernel()


def alive(pid):
    """Whether a process runs; one that has ended and waits for its parent to notice does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_all_end(pids, seconds=5):
    deadline = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def pids_of(notebook):
    return [int(line.split()[-1]) for line in notebook.run(PIDS).splitlines()]


def start_group(notebook):
    notebook.run("%%ranks 2\nif not dist.is_initialized():\n    dist.init_process_group('gloo')")
    assert notebook.succeeded


def assert_next_cell_works(notebook):
    start_group(notebook)
    cell = "%%ranks\nx = torch.ones(1)\ndist.all_reduce(x)\nprint(x.item())"
    assert notebook.run(cell) == "rank 0: 2.0\nrank 1: 2.0\n"


def test_ranks_add_up_and_show_in_rank_order(notebook):
    start_group(notebook)
    output = notebook.run(
        "%%ranks\nx = torch.tensor([dist.get_rank() + 1])\ndist.all_reduce(x)\n"
        "import time; time.sleep(0.3 - 0.3 * dist.get_rank())\nprint('sum')\nx"
    )
    assert output == "rank 0: sum\n        tensor([3])\nrank 1: sum\n        tensor([3])\n"


def test_a_small_cell_is_back_at_once(notebook):
    start_group(notebook)
    notebook.run("%%ranks\npass")
    assert notebook.succeeded and notebook.seconds < 1  # 0.02 s when nothing else runs


def test_variables_live_until_the_number_of_ranks_changes(notebook):
    notebook.run("%%ranks 2\nmine = 5")
    assert notebook.run("%%ranks\nmine") == "rank 0: 5\nrank 1: 5\n"
    assert notebook.run("%%ranks 1\nprint('mine' in globals(), dist.is_initialized())") == "False False\n"


def test_environment_is_torchruns(notebook, tmp_path):
    names = list(torchrun_environment(0, 2, 0))
    show = "import os; print({name: os.environ.get(name) for name in " + str(names) + "}, flush=True)"
    (tmp_path / "show.py").write_text(show)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [str(tmp_path / "show.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    expected = sorted(done.stdout.splitlines(), key=lambda line: eval(line)["RANK"])
    given = notebook.run(f"%%ranks 2\n{show}").splitlines()
    for rank in range(2):
        theirs, ours = eval(expected[rank]), eval(given[rank].partition(": ")[2])
        assert ours.pop("MASTER_ADDR") == "127.0.0.1" and theirs.pop("MASTER_ADDR")
        assert ours.pop("MASTER_PORT").isdecimal() and theirs.pop("MASTER_PORT")
        assert ours == theirs


def test_failing_rank_shows_its_traceback_and_variables_live_on(notebook):
    notebook.run("%%ranks 2\nkept = 7")
    cell = "%%ranks\ndef f(): return {}['no']\nimport os\nif os.environ['RANK'] == '1': f()\nprint('fine')"
    output = notebook.run(cell)
    assert output.startswith("rank 0: fine\nrank 1 failed:\n---")
    assert f"Cell In[{notebook.number}], line 4" in output and "line 2, in f()" in output
    assert output.endswith("KeyError: 'no'\n")
    assert notebook.error == ["Rank 1 failed: the ranks live on, with their variables."]
    assert notebook.run("%%ranks\nkept") == "rank 0: 7\nrank 1: 7\n"


def test_the_same_failure_on_all_ranks_is_shown_once(notebook):
    output = notebook.run("%%ranks 2\nundefined")
    assert output.startswith("ranks 0 and 1 failed:\n") and output.count("NameError: ") == 1


def test_one_fails_while_another_waits_for_it(notebook):
    start_group(notebook)
    output = notebook.run("%%ranks\nif dist.get_rank() == 1:\n    1 / 0\ndist.barrier()")
    assert "rank 1 failed:\n" in output and "ZeroDivisionError" in output and notebook.seconds < 10
    sentence = "Rank 1 failed and rank 0 had not finished 3 s later: all ranks were ended"
    assert notebook.error[0].startswith(sentence)
    assert_next_cell_works(notebook)


def test_mismatched_collectives_come_back_in_their_timeout(notebook):
    start_group(notebook)
    notebook.run(
        "%%ranks --timeout 2\nx = torch.ones(4)\n"
        "dist.all_reduce(x) if dist.get_rank() else [dist.broadcast(x, src=1), dist.all_reduce(x)]"
    )
    assert notebook.seconds < 8
    assert re.match(r"(Ranks 0 and|Rank) \d had not finished after 2 s: all ranks were ended", notebook.error[0])
    assert_next_cell_works(notebook)


@pytest.mark.parametrize("cell, fate", [("while True: pass", "live on"), ("dist.recv(x)", "were ended")])
def test_interrupt(notebook, cell, fate):
    assert_next_cell_works(notebook)
    threading.Timer(1, notebook.manager.interrupt_kernel).start()
    notebook.run(f"%%ranks\n{cell}")
    assert notebook.error[0].startswith("Interrupted: ") and fate in notebook.error[0]
    assert notebook.seconds < 10
    assert_next_cell_works(notebook)


def test_rank_that_is_killed_is_named(notebook):
    notebook.run("%%ranks 2\nimport os\nif os.environ['RANK'] == '1': os.kill(os.getpid(), 9)")
    assert notebook.error[0].startswith("Rank 1 has ended: all ranks were ended") and notebook.seconds < 10
    first, second = pids_of(notebook)
    os.kill(first, signal.SIGKILL)
    time.sleep(1)
    output = notebook.run("%%ranks\n'next'")
    assert output == "rank 0 had ended: fresh ranks, without variables\nrank 0: 'next'\nrank 1: 'next'\n"
    assert_all_end([second])


def test_picture_of_any_rank_reaches_the_notebook(notebook):
    notebook.run("%%ranks 2\nimport os\nfrom IPython.display import display, SVG")
    assert notebook.run("%%ranks\nif os.environ['RANK'] == '1': display(SVG('<svg/>'))") == "rank 1:\n"
    assert [data["image/svg+xml"] for data in notebook.displayed] == ["<svg/>"]


def test_stderr_stays_stderr(notebook):
    notebook.run("%%ranks 2\nimport sys; print('careful', file=sys.stderr)")
    assert notebook.text == {"stdout": "", "stderr": "rank 0: careful\nrank 1: careful\n"}


@pytest.mark.parametrize("line", ["0", "17", "x", "-1", "2.5", "2 3", "2 --timeout 0", "2 --timeout soon"])
def test_bad_line_is_one_sentence(notebook, line):
    notebook.run(f"%%ranks {line}\nprint('ran')")
    assert not notebook.succeeded and notebook.text["stdout"] == ""
    assert notebook.text["stderr"].startswith("UsageError: ") and notebook.text["stderr"].count("\n") == 1


@pytest.mark.parametrize("way", ["killed", "shut down", "unloaded"])
def test_ranks_end_with_the_notebook(tmp_path, way):
    notebook = Notebook(tmp_path)
    pids = pids_of(notebook)
    assert len(pids) == 2 and all(map(alive, pids))
    if way == "killed":
        os.kill(notebook.manager.provisioner.process.pid, signal.SIGKILL)
    elif way == "shut down":
        notebook.manager.shutdown_kernel()
    else:
        notebook.run("%unload_ext ddp_lessons")
    assert_all_end(pids)
    notebook.manager.shutdown_kernel(now=True)


def test_page_labels_once_and_indents(capsys):
    page = Page("rank 0: ")
    for text in ["a", "b\n", "\nc\nd", "e"]:
        page.write(text)
    page.close()
    page.write("again\n")
    assert capsys.readouterr().out == "rank 0: ab\n\n        c\n        de\nrank 0: again\n"


def test_screen_has_no_labels_for_one_rank_and_aligned_ones_for_many(capsys):
    for world_size in (1, 12):
        screen = Screen(world_size)
        for rank in reversed(range(world_size)):
            screen.hear(rank, "stream", {"name": "stdout", "text": f"{rank}\n"})
        screen.close()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "0" and lines[1] == "rank  0: 0" and lines[-1] == "rank 11: 11" and len(lines) == 13


def test_ranks_in_words():
    assert [named([1]), named([0, 1]), named([0, 1, 3])] == ["rank 1", "ranks 0 and 1", "ranks 0, 1 and 3"]
