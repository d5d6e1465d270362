"""What a reader redefines in cells goes into a script of their own: a real IPython shell, in a process of its own."""

import json
import os
import textwrap
from importlib import import_module
from pathlib import Path

import pytest
from ranks import run_all, run_script
from slow import slow_but
from test_compose import ROOT, SCRIPTS, lint

from ddp_lessons.workbench import scripts
from ddp_lessons.workbench.compose import compose

LESSON4 = next(script for script in SCRIPTS if script.stem.startswith("lesson4_"))
BLOCKS = [f"ddp_lessons.blocks.{path.stem}" for path in (ROOT / "ddp_lessons/blocks").glob("[a-z]*.py")]
DATA = str(ROOT / "data")


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
    assert mine("from ddp_lessons.blocks.evaluate import evaluate\nx = 1") == LESSON4.read_text()


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


@pytest.mark.parametrize("value", ["3", "[1, 2]", "torch.ones(2)", "nn.Linear(1, 1)", "print() or nn.Linear(1, 1).cpu"])
def test_a_variable_of_the_notebook_is_refused_by_name(value, mine):
    needs = "import torch\nfrom torch import nn"
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
        import torch
        from torch.utils.data import TensorDataset
        class InMemory(TensorDataset):
            def __getitems__(self, indices):
                return tuple(tensor[indices] for tensor in self.tensors)
    """)  # fmt: skip
    assert "tensor[indices] for" in text and text.count("class InMemory") == 1 and "with your own InMemory" in text


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


def test_a_script_of_the_readers_is_written_beside_the_lessons_and_runs(tmp_path):
    run_all([(written, tmp_path, EVALUATE.format("print('mine')"))])
    theirs, yours = sorted((tmp_path / "scripts").iterdir())
    assert [theirs.name, yours.name] == ["lesson4_ddp.py", "my_lesson4_ddp.py"]
    assert theirs.read_text() == LESSON4.read_text()
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
    assert next_input.startswith("import torch\nfrom torch import nn\n\n\n@torch.no_grad()\ndef evaluate(")


def test_edit_does_nothing_once_the_notebook_has_a_version_of_its_own(tmp_path):
    asked = ["from ddp_lessons.blocks.evaluate import evaluate as ours", EVALUATE.format("1"), "edit(ours)"]
    assert run_all([(edited, tmp_path, *asked)]) == [[]]


def edits_that_fail(folder: Path, lesson: str) -> dict[str, str]:
    """Edit each definition of a lesson in a notebook that has run only the lesson's first cell; say what fails."""
    os.environ["IPYTHONDIR"] = str(folder)
    module, failed = import_module(f"ddp_lessons.{lesson}"), {}
    first = json.loads((ROOT / "notebooks" / f"{lesson}.ipynb").read_text())["cells"][1]["source"]
    names = compose(module, {})[1].parts
    homes = {name: import_module(f"ddp_lessons.{lesson}") for name in names if hasattr(module, name)}
    for name in names:
        home = homes.get(name) or next(block for block in map(import_module, BLOCKS) if hasattr(block, name))
        try:
            shell = notebook("".join(first), "from ddp_lessons.workbench import edit")
            scripts.edit(getattr(home, name))
            shell.run_cell(shell.next_inputs[0], store_history=True).raise_error()
            assert name in compose(module, shell.user_ns)[1].mine
        except (AssertionError, ImportError, NameError, ValueError) as error:
            failed[name] = repr(error)
        shell.user_ns.pop(name, None)
    return failed


@pytest.mark.parametrize("lesson", slow_but(["lesson6_score_and_resume"], [script.stem for script in SCRIPTS]))
def test_everything_that_edit_gives_runs_and_goes_into_the_script(lesson, tmp_path):
    assert run_all([(edits_that_fail, tmp_path, lesson)]) == [{}]
