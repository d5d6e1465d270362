"""Scripts are what their lessons say, and a reader's cells go into scripts of their own."""

import ast
import difflib
import os
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path

import pytest
from ranks import run_all, run_script

from ddp_lessons.workbench import scripts, source
from ddp_lessons.workbench.compose import compose

ROOT = Path(__file__).parents[1]
DATA = str(ROOT / "data")
SCRIPTS = sorted((ROOT / "scripts").glob("lesson*.py"))
LESSONS = sorted(path.stem for path in (ROOT / "ddp_lessons").glob("lesson*.py"))
DEFINITIONS = ast.FunctionDef | ast.ClassDef

each_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def test_every_lesson_has_its_script():
    assert [script.stem for script in SCRIPTS] == LESSONS


@each_script
def test_a_script_is_what_its_lesson_gives(script):
    text, _ = compose(import_module(f"ddp_lessons.{script.stem}"), {})
    assert script.read_text() == text


@each_script
def test_a_script_needs_only_torch_and_torchvision(script):
    roots = {name.split(".")[0] for name in imported(ast.parse(script.read_text()))}
    assert roots - sys.stdlib_module_names <= {"torch", "torchvision"}


@each_script
def test_a_script_defines_before_it_uses(script):
    seen, names = set(), {node.name for node in definitions(script.read_text())}
    for node in definitions(script.read_text()):
        used = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        assert used & names <= seen | {node.name}
        seen.add(node.name)
    assert node.name == "main" and seen == names


@each_script
def test_a_script_says_where_it_comes_from(script):
    heading = ast.get_docstring(ast.parse(script.read_text()))
    assert heading.startswith(f"{script.stem}: ") and "ddp_lessons" in heading


def test_scripts_are_linted():
    lint([*SCRIPTS])


def test_lesson_4_is_short_and_a_small_change_from_lesson_1():
    lesson1, lesson4 = SCRIPTS[0].read_text(), SCRIPTS[3].read_text()
    assert len(lesson4.splitlines()) <= 150
    changes = [line for line in difflib.ndiff(code(lesson1), code(lesson4)) if line[0] in "+-"]
    assert len(changes) <= 40, "\n".join(changes)


def imported(tree: ast.Module) -> list[str]:
    """The modules that are imported, anywhere in a script."""
    nodes = list(ast.walk(tree))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return plain + [node.module for node in nodes if isinstance(node, ast.ImportFrom)]


def definitions(text: str) -> list:
    """The functions and classes of a script, in their order."""
    return [node for node in ast.parse(text).body if isinstance(node, DEFINITIONS)]


def code(text: str) -> list[str]:
    """The lines of a script, without its heading and the blank ones."""
    heading = ast.parse(text).body[0].end_lineno
    return [line for line in text.splitlines()[heading:] if line.strip()]


def lint(paths: list[Path]) -> None:
    """Assert that ruff, with the project's rules, finds nothing."""
    command = [sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", *paths]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


# A reader's notebook: a real IPython shell, in a process of its own.


def notebook(*cells: str):
    """Run cells in a fresh shell; return it, with what `edit` puts into a next cell in `shell.next_inputs`."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.next_inputs = []
    shell.set_next_input = shell.next_inputs.append
    for cell in cells:
        shell.run_cell(textwrap.dedent(cell), store_history=True).raise_error()
    return shell


def composed(folder: Path, lesson: str, *cells: str) -> str:
    """The text of the script that a notebook with these cells gives, or of the ValueError."""
    os.environ["IPYTHONDIR"] = str(folder)
    try:
        return compose(import_module(f"ddp_lessons.{lesson}"), notebook(*cells).user_ns)[0]
    except ValueError as error:
        return f"ValueError: {error}"


def written(folder: Path, *cells: str) -> None:
    """Run cells, then write the scripts of lesson 4 below `folder`."""
    os.environ["IPYTHONDIR"] = str(folder)
    (folder / "scripts").mkdir()
    scripts.ROOT = folder
    notebook("from ddp_lessons import lesson4_ddp", *cells)
    scripts.write_script(import_module("ddp_lessons.lesson4_ddp"))


def edited(folder: Path, *cells: str) -> list[str]:
    """What `edit` has put into next cells."""
    os.environ["IPYTHONDIR"] = str(folder)
    return notebook("from ddp_lessons.workbench import edit", *cells).next_inputs


@pytest.fixture
def mine(tmp_path):
    """Compose lesson 4 in a notebook with these cells."""
    return lambda *cells: run_all([(composed, tmp_path, "lesson4_ddp", *cells)])[0]


EVALUATE = """
    import torch
    @torch.no_grad()
    def evaluate(model, loader, device):
        {}
        return 0.5, 0.25
"""


def test_a_function_of_the_readers_goes_into_the_script(mine):
    text = mine(EVALUATE.format("print('mine')"))
    assert "@torch.no_grad()\ndef evaluate(model, loader, device):\n    print('mine')\n" in text
    assert text.count("def evaluate") == 1 and "with your own evaluate" in text


def test_the_latest_version_of_a_cell_counts(mine):
    text = mine(EVALUATE.format("print('old')"), EVALUATE.format("print('new')"))
    assert "print('new')" in text and "print('old')" not in text


def test_a_notebook_that_changes_nothing_gives_the_lessons_script(mine):
    assert mine("from ddp_lessons.blocks.evaluate import evaluate\nx = 1") == SCRIPTS[3].read_text()


@pytest.mark.parametrize(
    ("cell", "use", "wanted"),
    [
        ("import math", "math.floor(1.5)", "import math"),
        ("import numpy as np", "np.zeros(3)", "import numpy as np"),
        ("from torch.nn import functional as F", "F.relu", "import torch.nn.functional as F"),
        ("from collections import OrderedDict", "OrderedDict()", "from collections import OrderedDict"),
        ("from torch.nn.functional import relu", "relu", "from torch.nn.functional import relu"),
        ("", "torch.nn.functional", "import torch"),
    ],
)
def test_what_a_cell_uses_from_elsewhere_is_imported(cell, use, wanted, mine):
    assert wanted in mine(cell, EVALUATE.format(use)).splitlines()


def test_a_function_of_the_readers_brings_the_helpers_it_calls(mine):
    text = mine("def halve(x):\n    return x / 2", EVALUATE.format("halve(3)"))
    assert text.index("def halve") < text.index("def evaluate") and "with your own halve, evaluate" in text


@pytest.mark.parametrize("value", ["3", "[1, 2]", "torch.ones(2)", "SimpleNN()", "print('a value') or SimpleNN().cpu"])
def test_a_variable_of_the_notebook_is_refused_by_name(value, mine):
    needs = "import torch\nfrom ddp_lessons.blocks.model import SimpleNN"
    assert mine(needs, f"thing = {value}", EVALUATE.format("thing")).startswith("ValueError: a script cannot see thing")


@pytest.mark.parametrize(
    "body",
    [
        "def inner(x):\n            return x\n        inner(1)",
        "import math\n        math.floor(1.5)",
        "try:\n            pass\n        except ValueError as error:\n            print(error)",
        "class Local:\n            pass\n        Local()",
        "total = sum(x for x in range(3))",
        "(lambda y: y)(1)",
    ],
)
def test_names_that_a_function_makes_itself_are_its_own(body, mine):
    text = mine(EVALUATE.format(body))
    assert textwrap.dedent(body.replace("\n        ", "\n    ")) in text


def test_a_class_of_the_readers_goes_into_the_script(mine):
    text = mine("""
        from torch import nn
        class SimpleNN(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(784, 10, bias=False)

            def forward(self, images):
                return self.fc(images.flatten(1))
    """)  # fmt: skip
    assert "bias=False" in text and text.count("class SimpleNN") == 1 and "with your own SimpleNN" in text


def test_a_class_whose_method_is_borrowed_goes_into_the_script(mine):
    text = mine("""
        from torch.utils.data import TensorDataset
        class InMemory(TensorDataset):
            "Mine."
            __getitems__ = TensorDataset.__getitem__
    """)  # fmt: skip
    assert '"Mine."' in text and text.count("class InMemory") == 1 and "with your own InMemory" in text


def test_a_reader_may_replace_what_the_lesson_imports_from_elsewhere(mine):
    text = mine("""
        class DistributedSampler(list):
            def set_epoch(self, epoch):
                print("mine")
    """)  # fmt: skip
    assert 'print("mine")' in text and "import DistributedSampler" not in text


def test_two_meanings_of_an_imported_name_are_refused(mine):
    assert mine("from time import time", EVALUATE.format("time()")).startswith("ValueError: two")


def test_two_definitions_of_one_name_are_refused(tmp_path, monkeypatch):
    (tmp_path / "one.py").write_text("def helper():\n    return 1\n")
    (tmp_path / "two.py").write_text("def helper():\n    return 2\n\n\ndef other():\n    return helper()\n")
    lesson = "from {0}.one import helper\nfrom {0}.two import other\n\n\ndef main():\n    helper(), other()\n"
    (tmp_path / "lesson.py").write_text(lesson.format("two_of_a_name"))
    monkeypatch.setattr("ddp_lessons.workbench.compose.PACKAGE", "two_of_a_name")
    (tmp_path / "__init__.py").touch()
    package = tmp_path.rename(tmp_path.with_name("two_of_a_name"))
    monkeypatch.syspath_prepend(package.parent)
    with pytest.raises(ValueError, match="two definitions of helper"):
        compose(import_module("two_of_a_name.lesson"), {})


def test_a_script_of_the_readers_is_written_beside_the_lessons_and_runs(tmp_path):
    run_all([(written, tmp_path, EVALUATE.format("print('mine')"))])
    theirs, yours = sorted((tmp_path / "scripts").iterdir())
    assert [theirs.name, yours.name] == ["lesson4_ddp.py", "my_lesson4_ddp.py"]
    assert theirs.read_text() == SCRIPTS[3].read_text()
    lint([yours])
    options = ["--data", DATA, "--epochs", "1", "--samples", "64"]
    rank_0, other = run_script(yours, *options, folder=tmp_path, ranks=2)
    assert "mine\nepoch 1: test loss 0.5000, accuracy 25.00%" in rank_0 and other == ""


def test_without_cells_of_the_readers_only_the_lessons_script_is_written(tmp_path):
    run_all([(written, tmp_path)])
    assert [path.name for path in (tmp_path / "scripts").iterdir()] == ["lesson4_ddp.py"]


def test_edit_puts_the_source_into_the_next_cell(tmp_path):
    asked = ["from ddp_lessons.blocks.evaluate import evaluate", "edit(evaluate)"]
    [next_input] = run_all([(edited, tmp_path, *asked)])[0]
    assert next_input in (ROOT / "ddp_lessons/blocks/evaluate.py").read_text()
    assert next_input.startswith("@torch.no_grad()\ndef evaluate(")


def test_edit_does_nothing_once_the_notebook_has_a_version_of_its_own(tmp_path):
    asked = ["from ddp_lessons.blocks.evaluate import evaluate as ours", EVALUATE.format("1"), "edit(ours)"]
    assert run_all([(edited, tmp_path, *asked)]) == [[]]


def test_show_displays_the_lines_of_the_file_as_they_are_now(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(source, "display", lambda markdown: shown.append(markdown.data))
    monkeypatch.syspath_prepend(tmp_path)
    for text in ("def greet():\n    return 'hi'", "def greet():\n    return 'hello, reader'"):
        (tmp_path / "shown_module.py").write_text(text)
        sys.modules.pop("shown_module", None)
        source.show(import_module("shown_module").greet)
        assert shown[-1] == f"```python\n{text}\n```"
