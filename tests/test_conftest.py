"""Notebooks under nbval see no GPU, and are compared all the same from whatever folder pytest is started in."""

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from slow import slow

from ddp_lessons.blocks.checkpoint import save_model

ROOT = Path(__file__).parents[1]
SHOW = "from ddp_lessons.blocks.checkpoint import save_model\nfrom ddp_lessons.workbench import show\nshow(save_model)"
VARYING = """
import os, time
print(f"process {os.getpid()} took {time.time():.2f} s", [os.environ["CUDA_VISIBLE_DEVICES"]])
"""


@pytest.fixture
def nbval(tmp_path):
    """Run nbval on a cell with a stored output, in a project set up like ours; tell whether it passes."""
    notebook = tmp_path / "notebooks" / "lesson.ipynb"
    for folder in ("notebooks", "tests"):
        (tmp_path / folder).mkdir()
    for name in ("conftest.py", "pyproject.toml", "tests/nbval_sanitize.cfg"):
        shutil.copy(ROOT / name, tmp_path / name)

    def nbval(code, output, start):
        cell = nbformat.v4.new_code_cell(code, outputs=[output], execution_count=1)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
        command = [sys.executable, "-m", "pytest", "--nbval", notebook]
        done = subprocess.run(command, cwd=tmp_path / start, check=False, capture_output=True, text=True, timeout=600)
        print(done.stdout, done.stderr)
        return done.returncode == 0

    return nbval


def printed(text):
    return nbformat.v4.new_output("stream", text=text)


def shown(source):
    data = {"text/plain": "<IPython.core.display.Markdown object>", "text/markdown": f"```python\n{source}\n```"}
    return nbformat.v4.new_output("display_data", data)


@pytest.mark.parametrize("start", ["notebooks", slow(".")])
def test_seconds_and_process_numbers_may_differ_and_no_gpu_is_seen(start, nbval):
    assert nbval(VARYING, printed("process 1 took 2.30 s ['']\n"), start)


@pytest.mark.slow
def test_a_shown_function_that_is_the_same_passes(nbval):
    assert nbval(SHOW, shown(inspect.getsource(save_model).strip()), ".")


def test_a_shown_function_that_has_changed_fails(nbval):
    assert not nbval(SHOW, shown(inspect.getsource(save_model).strip().replace("whole", "in parts")), ".")
