"""Holds the set-up together: the conda file, the data, and one stem per lesson."""

import json
import re
import subprocess
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
