"""`%%ranks`: real kernels, real ranks."""

import re
import socket
import subprocess
import sys

import pytest
from notebook import opened
from ranks import gone

from ddp_lessons.running.torchrun import torchrun_environment
from ddp_lessons.workbench.ranks_screen import Page, Screen, clause, named


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("notebook")) as notebook:
        yield notebook


def test_ranks_add_up_and_show_in_rank_order(notebook):
    notebook.start_group()
    output = notebook.run(
        "%%ranks\nx = torch.tensor([dist.get_rank() + 1])\ndist.all_reduce(x)\n"
        "import time; time.sleep(0.3 - 0.3 * dist.get_rank())\nprint('sum')\nx"
    )
    assert output == "rank 0: sum\n        tensor([3])\nrank 1: sum\n        tensor([3])\n"


def test_variables_live_until_the_number_of_ranks_changes(notebook):
    notebook.run("%%ranks 2\nmine = 5")
    assert notebook.run("%%ranks\nmine") == "rank 0: 5\nrank 1: 5\n"
    assert notebook.run("%%ranks 1\nprint('mine' in globals(), dist.is_initialized())") == "False False\n"


def test_environment_is_torchruns(notebook, tmp_path):
    names = list(torchrun_environment(0, 2, 0))
    show = f"import os; given = {{name: os.environ.get(name) for name in {names}}}\n"
    show += r"print(str(given) + '\n', end='', flush=True)"  # in one piece: two ranks write to one pipe
    (tmp_path / "show.py").write_text(show)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [str(tmp_path / "show.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
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


def test_picture_of_any_rank_reaches_the_notebook(notebook):
    notebook.run("%%ranks 2\nimport os\nfrom IPython.display import display, SVG")
    assert notebook.run("%%ranks\nif os.environ['RANK'] == '1': display(SVG('<svg/>'))") == "rank 1:\n"
    assert [data["image/svg+xml"] for data in notebook.displayed] == ["<svg/>"]


def test_stderr_stays_stderr(notebook):
    notebook.run("%%ranks 2\nimport sys; print('careful', file=sys.stderr)")
    assert notebook.text == {"stdout": "", "stderr": "rank 0: careful\nrank 1: careful\n"}


def test_only_some_ranks_run_a_cell(notebook):
    notebook.run("%%ranks 3\nran = 'all'")
    assert notebook.run("%%ranks --only 2,0\nran = 'some'\nprint(1)") == "rank 0: 1\nrank 2: 1\n"
    assert notebook.run("%%ranks\nran").split("'")[1::2] == ["some", "all", "some"]
    notebook.run("%%ranks --only 1\n1 / 0")
    assert notebook.error == ["Rank 1 failed: the ranks live on, with their variables."]
    notebook.run("%%ranks --only 0\npass")
    assert notebook.succeeded


def test_status_and_stop(notebook):
    notebook.run("%%ranks\npass")
    status = notebook.run("%ranks status")
    assert re.fullmatch(r"(rank \d: process \d+, alive, idle\n)+", status) and status[:6] == "rank 0"
    assert notebook.run("%ranks stop") == "" and notebook.run("%ranks status") == "no ranks\n"
    notebook.run("%ranks 2")
    assert notebook.text["stderr"].startswith("UsageError: ") and notebook.text["stderr"].count("\n") == 1


@pytest.mark.parametrize(
    "line", ["0", "17", "x", "-1", "2.5", "2 3", "2 --timeout 0", "--timeout x", "2 --only 2", "--only x", "--only 1,"]
)
def test_bad_line_is_one_sentence(notebook, line):
    notebook.run(f"%%ranks {line}\nprint('ran')")
    assert not notebook.succeeded and notebook.text["stdout"] == ""
    assert notebook.text["stderr"].startswith("UsageError: ") and notebook.text["stderr"].count("\n") == 1


@pytest.mark.parametrize(
    "module, code, reason",
    [
        ("ipykernel", "raise SystemExit('not today')", "the ranks did not start: not today"),
        ("torch", "raise ImportError('not here')", "the ranks did not start: ImportError: not here"),
        ("torch", "import os; os._exit(3)", "the ranks did not start: no reason was given"),
    ],
)
def test_ranks_that_do_not_start_give_the_reason(notebook, tmp_path, module, code, reason):
    (tmp_path / f"{module}.py").write_text(code)
    notebook.run("%ranks stop\nimport os; before = os.environ.get('PYTHONPATH', '')")
    notebook.run(f"os.environ['PYTHONPATH'] = '{tmp_path}'")
    notebook.run("%%ranks 1\npass")
    assert notebook.error[0].startswith(f"No ranks: {reason}") and len(notebook.error) == 1
    notebook.run("os.environ['PYTHONPATH'] = before")


def test_ranks_share_nothing_that_processes_of_torchrun_do_not(notebook):
    draws = "torch.rand(1).item(), numpy.random.rand(), random.random(), hash('DDP')"
    notebook.run(f"%%ranks 2\nimport random, numpy, os\nprint({draws}, os.getsid(0), os.environ['MASTER_PORT'])")
    first, second = (line.split()[2:] for line in notebook.text["stdout"].splitlines())
    assert [a == b for a, b in zip(first, second, strict=True)] == [False] * 5 + [True]
    assert notebook.run("%%ranks\nprint(torch.get_num_threads())") == "rank 0: 1\nrank 1: 1\n"


def test_ranks_start_without_a_fork_where_that_was_never_tried(tmp_path):
    with opened(tmp_path) as notebook:
        notebook.run("from ddp_lessons.workbench import fork_server\nfork_server.sys.platform = 'an unknown one'")
        notebook.run("fork_server.latest = []")
        notebook.start_group()
        output = notebook.run("%%ranks\nx = torch.ones(1)\ndist.all_reduce(x)\nprint(x, hash('DDP'))")
        assert output.count("tensor([2.])") == 2 and len({line[-9:] for line in output.splitlines()}) == 2
        notebook.run("%ranks stop")
        assert gone(notebook.mark, but=1)


def test_port_is_kept_for_the_ranks_and_another_one_is_a_stop_away(notebook):
    notebook.run("%ranks stop")
    port = int(notebook.run("%%ranks 1\nimport os; print(os.environ['MASTER_PORT'])"))
    with socket.socket() as other, pytest.raises(OSError):
        other.bind(("127.0.0.1", port))
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind(("127.0.0.1", port))
        thief.listen()
        output = notebook.run("%%ranks\ndist.init_process_group('gloo')")
        assert output.endswith("\nMASTER_PORT is taken: %ranks stop, then the cell again, takes another.\n")
        notebook.run("%ranks stop")
        notebook.run("%%ranks\ndist.init_process_group('gloo')")
        assert notebook.succeeded


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
    assert clause([2], "waits in barrier") == "rank 2 waits in barrier"
    assert clause([0, 1], "has ended") == "ranks 0 and 1 have ended"
    assert clause([0, 1], "failed") == "ranks 0 and 1 failed"
