"""Holds the set-up together: start.py, the conda file, the data, and one stem per lesson."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from torchvision.datasets import MNIST
from torchvision.datasets.utils import check_md5

try:
    import tomllib
except ImportError:  # Python 3.10, where pytest brings its forerunner
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))
NOTEBOOKS = [path for path in NOTEBOOKS if ".ipynb_checkpoints" not in path.parts]


def load_start():
    """Gives start.py as a module of its own, so that a test may bend its paths."""
    spec = importlib.util.spec_from_file_location("start", ROOT / "start.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Gives start.py pointed at an empty project, with the commands it runs written down."""
    module = load_start()
    pyproject, venv = tmp_path / "pyproject.toml", tmp_path / ".venv"
    pyproject.write_text('requires-python = ">=3.10"\n')
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PYPROJECT", pyproject)
    monkeypatch.setattr(module, "VENV", venv)
    monkeypatch.setattr(module, "PYTHON", venv / "bin" / "python")
    monkeypatch.setattr(module, "STAMP", venv / "stamp")
    module.ran, module.exit_code = [], 0

    def run(command, *more, **named):
        module.ran.append(command)
        if "venv" in command:
            (venv / "bin").mkdir(parents=True)
            (venv / "bin" / "python").symlink_to(sys.executable)
        return module.exit_code

    module.real_run = module.run
    monkeypatch.setattr(module, "run", run)
    return module


def tracked_files():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in listing.stdout.decode().split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


# one list of dependencies, one stem per lesson


def test_conda_file_names_what_pyproject_names():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    assert f"- python{PROJECT['requires-python']}" in lines
    assert [line for line in lines if "pip:" in line] == ['- pip: ["-e .[dev]"]']
    assert "dev" in PROJECT["optional-dependencies"]


def test_start_reads_the_floor_from_pyproject():
    floor = re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])
    with pytest.raises(SystemExit, match=rf"3\.8 is too old.*3\.{floor[1]} or newer"):
        load_start().check_machine(version=(3, 8, 18))
    load_start().check_machine(version=(3, int(floor[1]), 0))


def test_every_lesson_has_a_module_a_notebook_and_a_script():
    modules = {path.stem for path in (ROOT / "ddp_lessons").glob("lesson*.py")}
    assert modules == {path.stem for path in (ROOT / "notebooks").glob("lesson*.ipynb")}
    assert modules == {path.stem for path in (ROOT / "scripts").glob("lesson*.py")}
    assert modules


def test_registries_are_named_nowhere_but_pytorchs_in_the_readme():
    hosts = ["pypi" + ".org", "python" + "hosted.org", "anaconda" + ".org", "pytorch" + ".org/whl"]
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        named = [host for host in hosts if host in text]
        assert not named or (path.name, named) == ("README.md", hosts[3:]), path


def test_no_lock_files():
    names = [path.name for path in tracked_files()]
    assert not [name for name in names if re.search(r"\.lock$|^requirements.*\.txt$", name)]


# the data


@pytest.mark.parametrize("url, md5", MNIST.resources)
def test_archive_is_the_official_one(url, md5):
    assert check_md5(ROOT / "data" / "MNIST" / "raw" / url, md5)


# the notebooks, as they lie in the repository


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_stores_what_nbval_compares(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    never_run = ["".join(cell["source"]) for cell in code if cell["execution_count"] is None]
    assert code and not never_run
    assert "widgets" not in notebook["metadata"], "a stored widget state hides the still picture"


# start.py


@pytest.mark.parametrize("arguments", [[], ["lag"], ["--epochs", "1"]])
def test_wrong_arguments_give_the_usage(arguments):
    command = [sys.executable, ROOT / "start.py", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("usage: python3 start.py lab | train | test")


def test_installs_once_and_again_when_pyproject_changes(start):
    start.install()
    assert [command[2] for command in start.ran] == ["venv", "pip"]
    start.install()
    assert len(start.ran) == 2
    start.PYPROJECT.write_text('requires-python = ">=3.11"\n')
    start.install()
    assert [command[2] for command in start.ran] == ["venv", "pip", "pip"]


def test_an_installation_that_failed_is_taken_up_again(start):
    start.install()
    start.PYPROJECT.write_text("changed")
    start.exit_code = 1
    with pytest.raises(SystemExit, match="installation failed"):
        start.install()
    start.PYPROJECT.write_text('requires-python = ">=3.10"\n')  # back to what was installed once
    assert not start.is_installed()
    start.exit_code = 0
    start.install()
    assert start.is_installed()


def test_a_venv_made_by_hand_is_kept(start):
    (start.VENV / "bin").mkdir(parents=True)
    start.PYTHON.symlink_to(sys.executable)
    start.install()
    assert [command[2] for command in start.ran] == ["pip"]


def test_lab_is_for_this_machine_only_with_its_token(start, monkeypatch):
    monkeypatch.setattr(start, "has_browser", lambda: False)
    for user, wanted in [(0, True), (1000, False)]:
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        start.lab()
        assert ("--allow-root" in start.ran[-1]) == wanted
    assert {"--ip=127.0.0.1", "--no-browser"} <= set(start.ran[-1])
    assert "token" not in " ".join(start.ran[-1][1:]).lower()


def test_train_says_what_a_person_would_type(start, capsys):
    start.train("--epochs", "1")
    typed = "torchrun --standalone --nproc-per-node 2 scripts/lesson4_ddp.py --epochs 1"
    assert capsys.readouterr().out == f"$ {typed}\n"
    assert start.ran[-1][1:] == ["-m", "torch.distributed.run", *typed.split()[1:]]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_child_too(number):
    child = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    ours = f"import start, sys; start.run([sys.executable, '-c', {child!r}])"
    command = [sys.executable, "-c", ours]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as us:
        pid = int(us.stdout.readline())
        us.send_signal(number)
        assert us.wait(timeout=20) == 128 + number
        assert us.stderr.read() == b""
    time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
