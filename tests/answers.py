"""Right answers to the exercises, from the folds in the notebooks, and wrong ones, from files: as a reader's cells."""

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDED = re.compile(r"<details><summary>One answer</summary>.*?```python\n(.*?)```", re.DOTALL)
IMPORTS = """
import os

import torch
import torch.distributed as dist
from torch import nn
from ddp_lessons.workbench import check, on_ranks
"""


def solutions() -> dict[str, str]:
    """Return the code in the folds, by the name of what it defines last."""
    found = {}
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for code in FOLDED.findall("\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")):
            if name := getattr(ast.parse(code).body[-1], "name", None):  # not a script: converted.py has those
                found[name] = code
    return found


@dataclass
class Wrong:
    """A wrong answer: `before` is the cell that holds all of its file, `cell` the answer under the exercise's name."""

    exercise: str
    mistake: str
    before: str
    cell: str
    hint: str  # how the hint must begin
    sizes: tuple[int, ...]
    stuck: bool


def wrong_answers() -> list[Wrong]:
    """Return the wrong answers in `wrong_answers/`.

    A docstring is the hint that is due, after "4 ranks: " if only there, and "stuck: " if ranks do not come back.
    """
    found = []
    for path in sorted((ROOT / "tests" / "wrong_answers").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            said = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.ClassDef) else "helper"
            if said != "helper":
                stuck, size, hint = re.fullmatch(r"(stuck: )?(?:(\d) ranks: )?(.*)", said).groups()
                cell = re.sub(rf"^(def|class) {node.name}\b", rf"\1 {path.stem}", ast.get_source_segment(text, node))
                sizes = (int(size),) if size else (4, 2) if path.stem != "average_loss" else (4, 2, 1)
                found.append(Wrong(path.stem, node.name, text, cell, hint, sizes, bool(stuck)))
    return sorted(found, key=lambda wrong: wrong.stuck)  # last, because new ranks have to start after each
