"""Where a process hangs: what `faulthandler`, Python's own, prints of a process that no longer answers, in words."""

import re
from collections.abc import Callable

FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)
WAITS = ("torch/distributed/", "torch/nn/parallel/distributed.py", "torch/autograd/")  # other ranks are waited for


def where(dump: str, readers: Callable[[str], bool], line: str = "line") -> str:
    """Say where a process hangs: "waits in broadcast, line 4", or "is at line 7"; "has ended" if `dump` is empty.

    `dump` is what faulthandler printed of its threads, innermost call first. `readers(file)` tells the reader's own
    code from the libraries': named is the first public function that this code, at its innermost line, has called.
    `line` is what a line is called; `{file}` in it becomes the file it is in.
    """
    for thread in re.split(r"^(?:Current t|T)hread 0x", dump, flags=re.MULTILINE)[:0:-1]:
        calls = []
        for file, number, function in FRAME.findall(thread):
            if readers(file):
                return said(calls[::-1], f"{line.format(file=file)} {number}")
            calls.append((file, function))
    return "is not in your code" if dump else "has ended"


def said(calls: list[tuple[str, str]], place: str) -> str:
    """Name what the reader's code waits in: `calls` are the libraries' (file, function), outermost first."""
    if not any(part in file for file, _ in calls for part in WAITS):
        return f"is at {place}"
    public = [function for _, function in calls if not function.startswith("_") and function != "wrapper"]
    return f"waits in {public[0] if public else 'DDP'}, {place}"
