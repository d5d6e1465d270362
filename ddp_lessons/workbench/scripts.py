"""Scripts on disk: written from their lesson, and compared."""

import difflib
import os
from pathlib import Path
from types import ModuleType

from IPython.display import Markdown, display

from ddp_lessons.workbench.compose import compose
from ddp_lessons.workbench.source import notebook_names

ROOT = Path(__file__).parents[2]


def script_path(lesson: ModuleType | str) -> Path:
    """Return where the script of a lesson is, or of that name."""
    name = lesson if isinstance(lesson, str) else lesson.__name__.split(".")[-1]
    return ROOT / "scripts" / f"{name}.py"


def write_script(lesson: ModuleType) -> None:
    """Write the lesson's script into `scripts/`, and say what it is made of.

    Where you have redefined some of its functions in your notebook, write a second script with those, `my_…`.
    """
    write(script_path(lesson), *compose(lesson, {}))
    text, script = compose(lesson, notebook_names())
    if script.mine:
        write(script_path("my_" + script_path(lesson).stem), text, script)


def write(path: Path, text: str, script) -> None:
    """Write a script whole or not at all, and say so."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, path)
    yours = f", yours: {', '.join(script.mine)}" if script.mine else ""
    print(f"scripts/{path.name}: {len(text.splitlines())} lines, made of {', '.join(script.parts)}{yours}")


def diff(before: ModuleType | str, after: ModuleType | str) -> list[str]:
    """Return what changed from one written script to the other, as the lines of a unified diff."""
    texts = [script_path(lesson).read_text().splitlines() for lesson in (before, after)]
    return list(difflib.unified_diff(*texts, script_path(before).name, script_path(after).name, "", "", 1, ""))


def show_diff(before: ModuleType | str, after: ModuleType | str) -> None:
    """Display what changed from one written script to the other."""
    display(Markdown("```diff\n" + "\n".join(diff(before, after)) + "\n```"))
