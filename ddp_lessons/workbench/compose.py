"""A lesson's script, gathered from the functions that its `main` reaches."""

import ast
import builtins
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType

from ddp_lessons.workbench.source import in_notebook, slice_of, text_around

PACKAGE = "ddp_lessons"


def compose(lesson: ModuleType, notebook: dict[str, object]) -> tuple[str, "Script"]:
    """Return the text of a lesson's script, and what it was gathered from.

    `notebook` holds the names that a notebook has defined: a function of the reader's goes before ours.
    Raises ValueError, naming the culprit, where the pieces would not make a script.
    """
    script = Script(notebook)
    script.gather("main", lesson)
    stem = lesson.__name__.split(".")[-1]
    mine = f" with your own {', '.join(script.mine)}" if script.mine else ""
    header = (
        f'"""{stem}: {lesson.__doc__.strip()}\n'
        f"Written from {PACKAGE}, by the notebook of that name{mine}: change those, not this."
        f'"""\n\n{import_lines(script.imports)}'
    )
    footer = 'if __name__ == "__main__":\n    main()\n'
    return "\n\n\n".join([header, *script.parts.values(), footer]), script


@dataclass
class Script:
    """What has been gathered: parts by name, dependencies first, and the imports from outside."""

    notebook: dict[str, object]
    parts: dict[str, str] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    mine: list[str] = field(default_factory=list)  # the parts that come from the reader's cells
    origins: dict[str, object] = field(default_factory=dict)

    def gather(self, name: str, home: ModuleType) -> None:
        """Add what `name` means in the module `home`, after all that it needs itself."""
        page, own = Page.read(inspect.getsource(home)), self.notebook.get(name)
        if in_notebook(own):
            module = page.imports.get(name, ("",))[0]  # what the original could see, the reader's can
            seen_from = importlib.import_module(module) if is_ours(module) else home
            self.add(name, Page.read(text_around(own)), seen_from, own)
        elif name in page.definitions:
            self.add(name, page, home, home)
        elif name in page.imports:
            self.bring(name, *page.imports[name])
        elif name not in self.notebook and not hasattr(builtins, name):
            raise ValueError(f"nothing is called {name}")
        elif not hasattr(builtins, name):
            self.bring(name, *import_of(name, own))

    def bring(self, name: str, module: str, original: str | None) -> None:
        """Add `name`, imported from `module`: our own modules' definitions, everybody else's imports."""
        if not is_ours(module):
            known = self.imports.setdefault(name, (module, original))
            if imported(*known) is not imported(module, original):
                raise ValueError(f"two meanings of {name} would meet in one script: import one under another name")
        elif original == name:
            self.gather(name, importlib.import_module(module))
        else:
            raise ValueError(f"import the function itself, under its own name: {name} from {module}")

    def add(self, name: str, page: "Page", home: ModuleType, origin: object) -> None:
        """Add the definition of `name` on `page`, once."""
        if name in self.origins:
            if self.origins[name] is not origin:
                raise ValueError(f"two definitions of {name} would meet in one script: rename one")
            return
        self.origins[name] = origin
        source, needs = page.definitions[name]
        for need in needs:
            if need in page.imports and not in_notebook(self.notebook.get(need)):
                self.bring(need, *page.imports[need])
            elif need != name:
                self.gather(need, home)
        self.parts[name] = source
        self.mine += [name] if origin is not home else []


@dataclass
class Page:
    """The text of a module or of a cell, taken apart: what it defines and what it imports, by name."""

    definitions: dict[str, tuple[str, list[str]]]  # source, and the names it needs
    imports: dict[str, tuple[str, str | None]]  # module, and the name there

    @classmethod
    def read(cls, text: str) -> "Page":
        """Return the page with this text."""
        page = cls({}, {})
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import):
                page.imports |= {a.asname or a.name.split(".")[0]: (a.name, None) for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                page.imports |= {a.asname or a.name: (node.module, a.name) for a in node.names}
            elif name := bound_name(node):
                page.definitions[name] = slice_of(node, text), names_needed(node)
        return page


def is_ours(module: str) -> bool:
    """Tell whether a module is part of this package."""
    return module.split(".")[0] == PACKAGE


def imported(module: str, name: str | None) -> object:
    """Return what `import module`, or `from module import name`, gives."""
    there = importlib.import_module(module)
    return getattr(there, name) if name else there


def imports_of(thing: Callable | type) -> str:
    """Return the import statements that a definition needs where it stands alone, in a cell."""
    home = inspect.getmodule(thing)
    page, needed = Page.read(inspect.getsource(home)), {}
    for name in page.definitions[thing.__name__][1]:
        if name in page.imports:
            needed[name] = page.imports[name]
        elif name in page.definitions and name != thing.__name__:
            needed[name] = home.__name__, name
    return import_lines(needed)


def bound_name(node: ast.stmt) -> str | None:
    """Return the name that a function, a class or a plain assignment binds."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return getattr(node, "name", None)


def names_needed(node: ast.stmt) -> list[str]:
    """Return the names a definition uses and does not set itself, in the order they appear."""
    nodes = list(ast.walk(node))
    names = sorted((n for n in nodes if isinstance(n, ast.Name)), key=lambda n: (n.lineno, n.col_offset))
    own = {n.id for n in names if isinstance(n.ctx, ast.Store)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
    own |= {n.name for n in nodes[1:] if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler)}
    own |= {(n.asname or n.name).split(".")[0] for n in nodes if isinstance(n, ast.alias)}
    return list(dict.fromkeys(n.id for n in names if n.id not in own))


def import_of(name: str, value: object) -> tuple[str, str | None]:
    """Return the module, and the name there, from which a notebook has `value`."""
    if inspect.ismodule(value):
        return value.__name__, None
    home, original = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if home and original and getattr(sys.modules.get(home), original, None) is value:
        return home, original
    raise ValueError(f"a script cannot see {name}, which the notebook holds: define it inside the function")


def import_lines(imports: dict[str, tuple[str, str | None]]) -> str:
    """Return import statements in the usual order: Python's own first, `import` before `from`."""
    plain, members = set(), {}
    for bound, (module, name) in imports.items():
        alias = f" as {bound}" if bound not in (name, module.split(".")[0]) else ""
        if name:
            members.setdefault(module, []).append(name + alias)
        else:
            plain.add((module, f"import {module}{alias}"))
    grouped = [(m, f"from {m} import {', '.join(sorted(n, key=by_kind))}") for m, n in members.items()]
    statements = sorted(plain) + sorted(grouped)
    python = [s for m, s in statements if m.split(".")[0] in sys.stdlib_module_names]
    others = [s for m, s in statements if m.split(".")[0] not in sys.stdlib_module_names]
    return "\n\n".join("\n".join(block) for block in (python, others) if block)


def by_kind(name: str) -> tuple[bool, bool, str]:
    """Sort CONSTANTS before Classes before functions, as import sorters do."""
    return not name.isupper(), not name[0].isupper(), name
