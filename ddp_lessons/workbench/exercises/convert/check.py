"""The exercises on converting a script: a copy for the reader, and a check that runs it alone and on ranks."""

import ast
from pathlib import Path

from IPython.display import Markdown, display

from ddp_lessons.workbench import scripts
from ddp_lessons.workbench.exercises.convert.judge import Case, verdict
from ddp_lessons.workbench.exercises.convert.seen import watched
from ddp_lessons.workbench.launch import mend

FOLDER = Path("notebooks", "exercises")


def show_script(name: str) -> None:
    """Display the single-card script of that name, as it is given."""
    display(Markdown(f"```python\n{given(name).read_text().rstrip()}\n```"))


def copy_script(name: str) -> None:
    """Make your own copy of a given script, unless there is one already, and say where it is."""
    path = FOLDER / mine(name).name
    try:
        if not mine(name).exists():
            scripts.write_whole(mine(name), given(name).read_bytes())
    except OSError as error:
        raise scripts.Refused(f"{path} could not be written: {error}") from None
    mend([])
    display(Markdown(f"[{path}]({path.name}) is your copy. Click it, and it opens in a tab of its own."))


def check_script(name: str, ranks: tuple[int | None, ...] = (None, 2, 4), stuck: float = 30) -> None:
    """Run your copy of a given script alone (None) and on ranks, and print what came of it.

    It passes if it does what the given script does on a single card: the same weights up to rounding, the same lines,
    each once. `stuck` is after how many idle seconds it hangs. Nothing is left running, and no file.
    """
    text = given(name).read_text()
    if not mine(name).exists():
        return print(f'not solved yet: copy_script("{name}") makes your copy')
    wrong = cannot_run(mine(name))
    if not wrong and same_program(mine(name).read_text(), text):
        return print("not solved yet")
    if wrong:
        return print(f"not yet: {wrong}")
    mend([])
    for number in ranks:
        case = Case(name, text, scripts.ROOT / "data", watched(mine(name), number, stuck), number)
        wrong, hint = verdict(case)
        if wrong:
            place = "alone" if number is None else f"on {number} ranks"
            return print(f"not yet: {place}, {wrong}" + f"\nhint: {hint}" * bool(hint))
        print("alone: as before" if number is None else f"{number} ranks: the single card's weights, and lines, once")
    print("solved")


def given(name: str) -> Path:
    """Return where the given script is. Raises Refused for a name that none of them has."""
    folder = scripts.ROOT / FOLDER / "single_card"
    if not isinstance(name, str) or not (folder / f"{name}.py").is_file():
        names = ", ".join(sorted(path.stem for path in folder.glob("*.py")))
        raise scripts.Refused(f"there is no script {name} to convert; there are {names}")
    return folder / f"{name}.py"


def mine(name: str) -> Path:
    """Return where the reader's copy of a given script is, or will be."""
    return scripts.ROOT / FOLDER / f"my_{given(name).name}"


def same_program(one: str, other: str) -> bool:
    """Tell whether two scripts differ in comments and blanks alone."""
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def cannot_run(path: Path) -> str:
    """Return why a file is no script, or nothing if it is one."""
    try:
        body = ast.parse(path.read_text()).body
    except SyntaxError as error:
        return f"{path.name}, line {error.lineno}: {error.msg}"
    except (OSError, ValueError) as error:  # a folder, or other bytes than text
        return f"{path.name} is no Python: {error}"
    return "" if body else f"{path.name} is empty; delete it, and copy_script makes it anew"
