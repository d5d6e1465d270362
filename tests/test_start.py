"""Holds start.py to its commands, and to leaving nothing behind, whatever ends it."""

import ast
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from stub_project import ROOT, TEST, Project

sys.path.insert(0, str(ROOT))  # for start, which no package holds
import start

SOURCES = [ROOT / "start.py", *sorted((ROOT / "starting").glob("*.py"))]
OLD = [shutil.which(f"python3.{minor}") for minor in (6, 7, 8, 9)]
OLD += sorted(Path.home().glob(".pyenv/versions/3.[6-9].*/bin/python"))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("project")).write().mark_installed()


@pytest.mark.parametrize("arguments", [[], ["lag"], ["--epochs", "1"]])
def test_wrong_arguments_give_the_usage(arguments):
    command = [sys.executable, ROOT / "start.py", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("usage: python3 start.py lab | train | test")


# the Python


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_python_3_8_can_read_it(path):
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_an_older_python_is_told_the_floor_of_pyproject():
    floor = start.floor()
    assert f'requires-python = ">={floor[0]}.{floor[1]}"' in (ROOT / "pyproject.toml").read_text()
    with pytest.raises(SystemExit, match=rf"3\.8 is too old.*{floor[0]}\.{floor[1]} or newer"):
        start.check_machine(version=(3, 8, 18))
    start.check_machine(version=(*floor, 0))


def test_windows_is_told_of_wsl():
    with pytest.raises(SystemExit, match="WSL2"):
        start.check_machine(system="nt")


def test_an_old_python_that_lies_here_says_so(project):
    works = [python for python in OLD if python and not subprocess.call([python, "-c", ""], stderr=-3)]
    if not works:
        pytest.skip("no Python from 3.6 to 3.9 on this machine")
    for python in works:
        done = subprocess.run([python, project.folder / "start.py", "lab"], check=False, stderr=-1, text=True)
        assert done.returncode == 1
        assert re.fullmatch(r"Python 3\.\d is too old: the course needs 3\.10 or newer, so .*\n", done.stderr)


# what the commands run


def test_train_and_test_pass_on_what_is_given(project):
    assert project.run("train") == (0, "[]\n", "")
    assert project.run("train", "lesson2_ranks", "--ranks", "3") == (0, "['lesson2_ranks', '--ranks', '3']\n", "")
    assert project.run("test", "-k", "blocks") == (0, f"{[*TEST, '-k', 'blocks']}\n", "")


def test_lab_takes_another_port_where_8888_is_taken(tmp_path):
    code = "import start, sys; start.PYTHON = sys.executable; sys.exit(start.lab('--no-browser'))"
    folders = {f"JUPYTER_{kind}_DIR": str(tmp_path) for kind in ("RUNTIME", "CONFIG")}
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # somebody else has it: that is as good
            stack.enter_context(socket.create_server(("127.0.0.1", 8888)))
        lab = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=os.environ | folders, stderr=-1, text=True)
        with lab:
            line = next(line for line in lab.stderr if "token=" in line)
            children = psutil.Process(lab.pid).children(recursive=True)
            lab.terminate()
            lab.stderr.read()
    assert lab.returncode == 128 + signal.SIGTERM
    assert re.search(r"http://127.0.0.1:(?!8888)\d+/lab\S*token=\w+", line)
    assert not any(child.is_running() for child in children)


# what ends it


@pytest.mark.parametrize("moment", ["webbrowser", "platform", "starting.run"])
def test_ctrl_c_during_the_imports_is_quiet(project, moment):
    command = [sys.executable, "-X", "importtime", project.folder / "start.py", "train", "wait"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        next(line for line in process.stderr if line.split()[-1] == moment)
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
    assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT)  # or it was done with them, and told its caller
    assert project.nothing_runs()


def test_a_command_that_is_killed_has_a_shells_exit_code():
    assert start.run(["bash", "-c", "kill -KILL $$"]) == 128 + signal.SIGKILL


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_child_too(project, name):
    with project.start("train", "wait") as process:
        assert process.stdout.readline() == "['wait']\n"
        process.send_signal(signal.Signals[name])
        assert process.communicate(timeout=120) == ("the launcher got SIGTERM\n", "")
    assert process.returncode == 128 + signal.Signals[name]
    assert project.nothing_runs()


def test_killed_it_leaves_no_process_either(project):
    with project.start("train", "wait") as process:
        assert process.stdout.readline() == "['wait']\n"
        process.kill()
        assert project.nothing_runs()
