"""What the tests of the converted scripts share: the solutions in the notebook, and runs of them in no time."""

import json
import re
from pathlib import Path

from ranks import run_script

from ddp_lessons.workbench.exercises.convert import witness
from ddp_lessons.workbench.exercises.convert.judge import Case, verdict
from ddp_lessons.workbench.exercises.convert.seen import WEIGHTS, seen
from ddp_lessons.workbench.scripts import ROOT

EXERCISES = ROOT / "notebooks" / "exercises"
GIVEN = {path.stem: path.read_text() for path in sorted((EXERCISES / "single_card").glob("*.py"))}


def solutions() -> dict[str, str]:
    """Return the script in each fold of the notebook, by the name that is checked above it."""
    cells = json.loads((EXERCISES / "convert.ipynb").read_text())["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    return dict(re.findall(r'check_script\("(\w+)"\)\n.*?<details>.*?```python\n(.*?\n)```', text, re.DOTALL))


SOLUTIONS = solutions()


def changed(text: str, changes: dict[str, str]) -> str:
    """Return a text with some parts of it replaced, which must be there."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def judged(folder: Path, name: str, text: str, ranks: int | None) -> tuple[str, str]:
    """Run a script on ranks that are up at once, under the same witness; return what is wrong, and the hint."""
    script, notes = folder / f"my_{name}.py", folder / "notes"
    script.write_text(text)
    notes.mkdir()
    options = [str(notes), str(script), "--data", str(ROOT / "data"), "--save", str(notes / WEIGHTS)]
    printed = run_script(Path(witness.__file__), *options, folder=folder, ranks=ranks)
    run = seen(notes, "".join(printed).splitlines())
    return verdict(Case(name, GIVEN[name], ROOT / "data", run, ranks))
