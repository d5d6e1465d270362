"""Scripts are what their lessons say: complete, in order, linted, and short."""

import ast
import difflib
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ddp_lessons.workbench import source
from ddp_lessons.workbench.compose import compose

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "scripts").glob("lesson*.py"))
COLLECTED = {script: script.read_text() for script in SCRIPTS}  # before a notebook, run meanwhile, writes it anew
LESSONS = sorted(path.stem for path in (ROOT / "ddp_lessons").glob("lesson*.py"))
DEFINITIONS = ast.FunctionDef | ast.ClassDef

each_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def test_every_lesson_has_its_script():
    assert [script.stem for script in SCRIPTS] == LESSONS


@each_script
def test_a_script_is_what_its_lesson_gives(script):
    text, _ = compose(import_module(f"ddp_lessons.{script.stem}"), {})
    assert COLLECTED[script] == text


@each_script
def test_a_script_needs_only_torch_and_torchvision(script):
    roots = {name.split(".")[0] for name in imported(ast.parse(script.read_text()))}
    assert roots - sys.stdlib_module_names <= {"torch", "torchvision", "numpy"}  # numpy comes with torchvision


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
    lesson1, lesson4 = (script.read_text() for script in SCRIPTS if script.stem[:8] in ("lesson1_", "lesson4_"))
    assert len(lesson4.splitlines()) <= 150
    changes = [line for line in difflib.ndiff(code(lesson1), code(lesson4)) if line[0] in "+-"]
    assert len(changes) <= 40, "\n".join(changes)


def test_lesson_5_adds_an_alarm_and_a_schedule_to_lesson_4():
    lesson4, lesson5 = (script.read_text() for script in SCRIPTS if script.stem[:8] in ("lesson4_", "lesson5_"))
    assert len(lesson5.splitlines()) <= 205
    added = {node.name for node in definitions(lesson5)} - {node.name for node in definitions(lesson4)}
    assert added == {"raise_on_drift", "scale_lr", "shared_loader", "global_batch_options"}
    changes = [line for line in difflib.ndiff(code(lesson4), code(lesson5)) if line[0] in "+-"]
    assert len(changes) <= 70, "\n".join(changes)


def test_lesson_6_adds_what_a_run_needs_to_be_killed():
    lesson4, lesson6 = (script.read_text() for script in SCRIPTS if script.stem[:8] in ("lesson4_", "lesson6_"))
    assert len(lesson6.splitlines()) <= 495
    before, now = ({node.name for node in definitions(text)} for text in (lesson4, lesson6))
    assert before - now == {"train_epoch", "evaluate"}
    assert now - before == {
        "resume_options", "load_data", "refuse_bad",  # the command line
        "Training", "ResumableSampler", "random_states", "set_random_states", "seed_all", "train_to_the_end", "score",
        "write_checkpoint", "checkpoints", "checksum", "newest_checkpoint", "read_state", "bare_weights",
        "find_state", "refuse_unfit", "lock_folder", "listen_for_stop", "any_rank", "gather", "from_rank_0",
    }  # fmt: skip


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


def test_show_displays_the_lines_of_the_file_as_they_are_now(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(source, "display", lambda markdown: shown.append(markdown.data))
    monkeypatch.syspath_prepend(tmp_path)
    for text in ("def greet():\n    return 'hi'", "def greet():\n    return 'hello, reader'"):
        (tmp_path / "shown_module.py").write_text(text)
        sys.modules.pop("shown_module", None)
        source.show(import_module("shown_module").greet)
        assert shown[-1] == f"```python\n{text}\n```"


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
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
