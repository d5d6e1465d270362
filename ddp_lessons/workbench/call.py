"""A call of a function, made into cells that ranks run, and its answer, made into what can be sent back."""

import inspect
import json
import os
from collections.abc import Callable

from IPython import get_ipython
from IPython.display import publish_display_data

import ddp_lessons
from ddp_lessons.workbench.compose import Page, Script, import_lines, imported, is_ours
from ddp_lessons.workbench.scripts import Refused
from ddp_lessons.workbench.source import in_notebook, notebook_names, text_around

RESULT = "application/x-ddp-lessons-result"
SOME_CALLS = 6  # of a traceback, at its beginning and at its end
FORGET = "get_ipython().run_line_magic('reset_selective', '-f .')"  # what an earlier call has defined; `reset` is slow


def cells_of(function: Callable, arguments: tuple, ranks: int, meeting: str) -> list[tuple[str, int]]:
    """Return the cells that ranks run for a call, and the number that each has in the notebook, 0 if it is in none.

    The first has what can take long and is not the function's fault: imports. Raises Refused for a call that cannot be
    sent, with what is in the way.
    """
    script = Sent(notebook_names())
    for thing in (function, *arguments):
        if in_notebook(thing):
            gather(script, thing)
    call = f"{expression(function)}, [{', '.join(map(expression, arguments))}], {ranks}, {meeting!r}"
    ours = [expression(thing) for thing in (function, answer) if not in_notebook(thing)]
    first = [FORGET, import_lines(script.imports), *ours, "pass"]  # or the last one would be shown
    parts = [cell_of(name, script) for name in script.parts]
    return [("\n".join(first), 0), *parts, (f"{expression(answer)}({call})", 0)]


class Sent(Script):
    """What the ranks need of the reader's: our own modules they import, as everybody else's."""

    def bring(self, name: str, module: str, original: str | None) -> None:
        """Add an import."""
        if is_ours(module):
            self.imports[name] = module, original
        else:
            super().bring(name, module, original)


def gather(script: Script, thing: Callable | type) -> None:
    """Add a function or a class of the reader's to a script, after all that it needs."""
    name = thing.__name__
    try:
        page = Page.read(text_around(thing))
        if name not in page.definitions or thing.__qualname__ != name:
            raise ValueError("it is not defined under that name at the top level of a cell")
        script.add(name, page, ddp_lessons, thing)
    except ValueError as error:
        raise Refused(f"the ranks cannot run {name}: {error}") from None


def cell_of(name: str, script: Script) -> tuple[str, int]:
    """Return a part of a script as a cell of its own, where it stands in the reader's, so that lines count as there."""
    part, text = script.parts[name], text_around(script.origins[name])
    cells = [cell.strip() for cell in notebook_names().get("In", [])]
    number = len(cells) - 1 - cells[::-1].index(text.strip()) if text.strip() in cells else 0
    return "#\n" * text.partition(part)[0].count("\n") + part, number  # empty lines IPython would take away


def expression(value: object) -> str:
    """Return Python that gives a value on a rank. No names of ours are in it, which the reader's could hide."""
    if in_notebook(value):
        return value.__name__
    module = "__import__('importlib').import_module"
    if callable(value):
        home, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if home in (None, "__main__") or inspect.getattr_static(imported(home, None), name, None) is not value:
            raise Refused(f"the ranks cannot run {value!r:.60}: give a function of a cell, or one that can be imported")
        return f"{module}({home!r}).{name}"
    try:
        return f"{module}('json').loads({json.dumps(value)!r})"
    except (TypeError, ValueError):
        raise Refused(f"the ranks can be given numbers, words, lists and dicts, but not {value!r:.60}") from None


def answer(function: Callable, arguments: list, ranks: int, meeting: str) -> None:
    """Call a function on this rank, in a group of the first `ranks`, and send the notebook what it returns.

    The ranks find each other through a file, `meeting`: a port would cost a look-up of names, which can take seconds.
    """
    import torch.distributed as dist  # here, on a rank that has it anyway: the notebook's side starts without torch

    rank = int(os.environ["RANK"])
    os.environ.update({"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)})
    dist.init_process_group("gloo", store=dist.FileStore(meeting, ranks), rank=rank, world_size=ranks)
    try:
        result = json.dumps(function(*arguments), default=as_json)
        dist.barrier()  # a rank that leaves at once would break the others' last message
        publish_display_data({RESULT: result})
    except Exception as error:  # noqa: BLE001 (whatever it is, the reader is to see it)
        cut(error)
        get_ipython().showtraceback()  # at once, since to leave a group that has just failed can take long
    finally:
        dist.destroy_process_group()


def cut(error: Exception) -> None:
    """Take the middle out of a traceback of very many calls, which IPython would need seconds to show."""
    calls, call = [], error.__traceback__
    while call:
        calls.append(call)
        call = call.tb_next
    if len(calls) > 2 * SOME_CALLS:
        calls[SOME_CALLS - 1].tb_next = calls[-SOME_CALLS]
        error.add_note(f"({len(calls) - 2 * SOME_CALLS} calls in the middle are left out)")


def as_json(value: object) -> object:
    """Return something else than JSON knows in a way that it knows: tensors as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, range | set) else repr(value)
