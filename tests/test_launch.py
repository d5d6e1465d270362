"""`launch`: the command first, lines as they come, one sentence when it goes wrong, and never a process left."""

import contextlib
import io
import os
import signal
from pathlib import Path

import pytest
from ranks import gone, run_all
from slow import slow

from ddp_lessons import lesson4_ddp
from ddp_lessons.workbench.launch import LaunchError, Run, launch

TORCHRUN = "OMP_NUM_THREADS=1 torchrun --standalone --nproc-per-node"
SLEEPER = """
    import os, time
    print(f"ready {os.environ.get('RANK')}\\n", end="")  # in one piece
    time.sleep(300)
"""


def test_plain_python_is_printed_first_then_what_the_script_says(script, capsys):
    lines = launch(script("hello", "import sys\nprint('hello', *sys.argv[1:])\nprint('bye')"), "--model", "cnn")
    assert lines == ["hello --model cnn", "bye"]
    command, *said = capsys.readouterr().out.splitlines()
    assert command == "$ OMP_NUM_THREADS=1 python scripts/hello.py --model cnn"
    assert said == lines


@pytest.mark.parametrize("ranks", [2, slow(1)])
def test_torchrun_is_printed_first_and_starts_the_ranks(ranks, script, capsys):
    lines = launch(script("who", "import os\nprint(os.environ['LOCAL_WORLD_SIZE'] + '\\n', end='')"), ranks=ranks)
    assert lines == [str(ranks)] * ranks
    assert capsys.readouterr().out.startswith(f"$ {TORCHRUN} {ranks} scripts/who.py\n{ranks}\n")


def test_a_lesson_is_launched_by_its_module(script, capsys):
    script("lesson4_ddp", "print('the script of lesson 4')")
    assert launch(lesson4_ddp) == ["the script of lesson 4"]


def test_a_line_arrives_before_the_script_ends(script, when_printed, tmp_path):
    when_printed("first", (tmp_path / "heard").touch)
    lines = launch(script("talk", """
        import os, time
        print("first")
        end = time.monotonic() + 300
        while time.monotonic() < end and not os.path.exists("heard"):
            time.sleep(0.05)
        print("heard" if os.path.exists("heard") else "nobody heard me")
    """))  # fmt: skip
    assert lines == ["first", "heard"]


def test_epochs_are_read_from_the_lines():
    lines = Run(["ranks: 2", "epoch 1: test loss 0.3871, accuracy 89.67%, trained in 1.90 s", "epoch 2: no such thing"])
    assert lines.epochs == [(0.3871, 89.67, 1.9)]


def test_a_missing_script_is_told_with_those_there_are(script):
    script("lesson1", "")
    with pytest.raises(LaunchError, match="^there is no script lesson9; .* there are lesson1$"):
        launch("lesson9")


@pytest.mark.parametrize("ranks", [0, -1, 65, 1.5, "2", True])
def test_a_number_of_ranks_that_cannot_be_is_told(ranks, script):
    with pytest.raises(LaunchError, match=f"^{ranks!r} ranks cannot be started: .* from 1 to 64$"):
        launch(script("hello", ""), ranks=ranks)


def test_a_number_of_ranks_without_its_name_is_told(script):
    with pytest.raises(LaunchError, match="^a script has no option 2; ranks=2 starts as many ranks$"):
        launch(script("hello", ""), 2)


@pytest.mark.parametrize("wait", [{"timeout": 0}, {"timeout": "10"}, {"stuck": -1}])
def test_a_time_out_that_cannot_be_is_told(wait, script):
    with pytest.raises(LaunchError, match="^(timeout|stuck)=.* is no number of seconds above 0$"):
        launch(script("hello", ""), **wait)


@pytest.mark.parametrize(("ranks", "who"), [(None, "the script"), (2, "rank 0")])
def test_a_failing_script_says_why_and_ends_all_ranks(ranks, who, script, mark, capsys):
    name = script("broken", """
        import os, time
        if os.environ.get("RANK") == "1":
            time.sleep(300)
        raise ValueError("no such luck")
    """)  # fmt: skip
    with pytest.raises(LaunchError, match=f"^{who} failed with exit code 1; its traceback is above$"):
        launch(name, ranks=ranks)
    assert capsys.readouterr().out.endswith("ValueError: no such luck\n")
    assert gone(mark)


@pytest.mark.parametrize("ranks", [None, 2])
def test_a_script_that_ends_with_a_sentence_is_quoted(ranks, script, capsys):
    with pytest.raises(LaunchError, match="^no card is free$"):
        launch(script("polite", "import sys\nsys.exit('no card is free')"), ranks=ranks)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_what_a_script_warns_of_is_shown(script, capsys):
    launch(script("warns", "import sys\nprint('careful', file=sys.stderr)"), ranks=2)
    assert capsys.readouterr().out.endswith("warns.py\ncareful\ncareful\n")


@pytest.mark.parametrize(("ranks", "timeout"), [(None, 1), slow(2, 9)])
def test_a_timeout_ends_all_ranks(ranks, timeout, script, mark):
    places = "it is at line 3|rank 0 is at line 3|rank 0 had not begun|no rank had begun"  # on a busy machine
    with pytest.raises(LaunchError, match=rf"^not done after {timeout} s .*: ({places})"):
        launch(script("sleeper", SLEEPER), ranks=ranks, timeout=timeout)
    assert gone(mark)


def test_a_script_that_closes_its_stdout_is_watched_on(script, mark):
    with pytest.raises(LaunchError, match="^not done after 2 s .*: it is at line 3;"):
        launch(script("silent", "import os, time\nos.close(1)\ntime.sleep(300)"), timeout=2)
    assert gone(mark)


@pytest.mark.parametrize("presses", [3, slow(1)])
def test_an_interrupt_ends_all_ranks_however_often_the_button_is_pressed(presses, script, mark, when_printed):
    when_printed("ready 1", lambda: [os.kill(os.getpid(), signal.SIGINT) for _ in range(presses)])
    with pytest.raises(LaunchError, match="^interrupted: rank 0 .*; rank 1 is at line [23]; all"):
        launch(script("sleeper", SLEEPER), ranks=2)
    assert gone(mark)


def error_in_a_cell(folder):
    """What a notebook shows of a script that is missing."""
    from IPython.core.interactiveshell import InteractiveShell

    os.environ["IPYTHONDIR"] = str(folder)
    shell = InteractiveShell.instance()
    shell.run_cell("from ddp_lessons.workbench import launch")
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        shell.run_cell("launch('nothing')")
    return shown.getvalue()


def test_a_notebook_shows_one_sentence_folded_to_its_page_and_no_traceback(tmp_path: Path):
    [shown] = run_all([(error_in_a_cell, tmp_path)])
    assert shown.startswith("LaunchError: there is no script nothing; write_script makes one of a lesson, and")
    assert "Traceback" not in shown and max(map(len, shown.splitlines())) <= 90
