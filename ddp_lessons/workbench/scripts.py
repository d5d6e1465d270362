"""Scripts on disk: written from their lesson, and compared."""

import difflib
import os
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from IPython import get_ipython
from IPython.display import Markdown, display

from ddp_lessons.workbench.compose import compose, imports_of
from ddp_lessons.workbench.source import in_notebook, notebook_names, source_of

ROOT = Path(__file__).parents[2]


PAGE = 90  # columns, about what Jupyter Lab shows without breaking words


class Refused(Exception):
    """What was asked cannot be done; a notebook shows it as one sentence, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return textwrap.wrap(f"{type(self).__name__}: {self}", PAGE)


def script_path(lesson: ModuleType | str) -> Path:
    """Return where the script of a lesson is, or of that name. Raises Refused for what is neither."""
    if not isinstance(lesson, str | ModuleType):
        raise Refused(f"{lesson!r} is neither a lesson nor the name of a script")
    name = lesson if isinstance(lesson, str) else lesson.__name__.split(".")[-1]
    return ROOT / "scripts" / f"{name}.py"


def write_script(lesson: ModuleType) -> None:
    """Write the lesson's script into `scripts/`, and say what it is made of.

    Where you have redefined some of its functions in your notebook, write a second script with those, `my_…`.
    Raises Refused where these would not make a script; a script of yours from before is then left as it was.
    """
    if not isinstance(lesson, ModuleType):
        raise Refused(f"{lesson!r} is no lesson: write_script takes the module, such as lesson4_ddp without quotes")
    write(script_path(lesson), *compose(lesson, {}))
    yours = script_path("my_" + script_path(lesson).stem)
    try:
        text, script = compose(lesson, notebook_names())
    except ValueError as error:
        raise Refused(f"{error}; scripts/{yours.name} was not written") from None
    if script.mine:
        write(yours, text, script)


def edit(thing: Callable | type) -> None:
    """Put the source of `thing`, with the imports it needs, into a new cell below, to be changed and run.

    What you run there goes into a script of your own, `scripts/my_*.py`, at the next `write_script`.
    Does nothing if the notebook has its own version already, so that Run All does not add cells.
    """
    shell = get_ipython()
    if shell and not in_notebook(shell.user_ns.get(thing.__name__)):
        shell.set_next_input(f"{imports_of(thing)}\n\n\n{source_of(thing)}".lstrip())


def write(path: Path, text: str, script) -> None:
    """Write a script, and say so."""
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise Refused(f"scripts/{path.name} could not be written, and is as it was before: {error}") from None
    yours = f", yours: {', '.join(script.mine)}" if script.mine else ""
    print(f"scripts/{path.name}: {len(text.splitlines())} lines, made of {', '.join(script.parts)}{yours}")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, also where two do so at once."""
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=path.parent) as folder:
        Path(folder, path.name).write_bytes(content)
        os.replace(Path(folder, path.name), path)


def diff(before: ModuleType | str, after: ModuleType | str) -> list[str]:
    """Return what changed from one written script to the other, as the lines of a unified diff."""
    texts = [script_path(lesson).read_text().splitlines() for lesson in (before, after)]
    return list(difflib.unified_diff(*texts, script_path(before).name, script_path(after).name, "", "", 1, ""))


def show_diff(before: ModuleType | str, after: ModuleType | str) -> None:
    """Display what changed from one written script to the other."""
    display(Markdown("```diff\n" + "\n".join(diff(before, after)) + "\n```"))
