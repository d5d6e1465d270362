"""The source of our functions and of the reader's, to look at and to change."""

import ast
import inspect
import linecache
import re
from collections.abc import Callable

from IPython import get_ipython
from IPython.display import Markdown, display


def source_of(thing: Callable | type) -> str:
    """Return the source of a function or class, decorators included, from a module or from a notebook's cell."""
    for node in ast.parse(text_around(thing)).body:
        if getattr(node, "name", None) == thing.__name__:
            return slice_of(node, text_around(thing))
    raise ValueError(f"{thing.__name__} is not defined at the top level of a module or a cell")


def text_around(thing: Callable | type) -> str:
    """Return the whole text of the module, or of the cell, that defines `thing`."""
    if not in_notebook(thing):
        return inspect.getsource(inspect.getmodule(thing))
    codes = [inspect.unwrap(part).__code__ for part in (thing, *vars(thing).values()) if inspect.isfunction(part)]
    texts = ["".join(linecache.getlines(code.co_filename)) for code in codes] + notebook_names().get("In", [])[::-1]
    for text in texts:  # a class has no code object of its own: its methods do, or the newest cell that defines it
        if re.search(rf"^class {thing.__name__}\b", text, re.MULTILINE) or inspect.isfunction(thing):
            return text
    raise ValueError(f"{thing.__name__} is not defined in any cell that could be found")


def slice_of(node: ast.stmt, text: str) -> str:
    """Return the lines of one statement of `text`, without the blank ones around it."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def in_notebook(thing: object) -> bool:
    """Tell whether `thing` is a function or a class that the reader defined in a cell."""
    return (inspect.isfunction(thing) or inspect.isclass(thing)) and thing.__module__ == "__main__"


def notebook_names() -> dict[str, object]:
    """Return what the running notebook has defined, by name; nothing outside a notebook."""
    shell = get_ipython()
    return shell.user_ns if shell else {}


def show(*things: Callable | type) -> None:
    """Display the source of functions or classes, the very lines that the script will hold."""
    display(Markdown("```python\n" + "\n\n\n".join(map(source_of, things)) + "\n```"))
