"""A notebook's kernel, `%%ranks` loaded: what a reader types, and what the reader sees."""

import contextlib
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

from jupyter_client.manager import start_new_kernel

MARK = "DDP_LESSONS_TEST"  # in the environment of the kernel, so of all that it starts


class Notebook:
    """A kernel of its own: `run(cell)` returns what the cell prints; it keeps what it showed and raised."""

    def __init__(self, folder: Path):
        self.mark = f"{MARK}={uuid.uuid4().hex}"
        environment = os.environ | dict([self.mark.split("=")])
        self.manager, self.client = start_new_kernel(cwd=str(folder), env=environment)
        self.run("%load_ext ddp_lessons")

    def run(self, cell: str) -> str:
        """Run a cell and wait for it."""
        self.text, self.displayed, self.error = {"stdout": "", "stderr": ""}, [], [""]
        reply = self.client.execute_interactive(cell, output_hook=self._hear, timeout=600)["content"]
        self.succeeded, self.number = reply["status"] == "ok", reply["execution_count"]
        return re.sub(r"\x1b\[[0-9;]*m", "", self.text["stdout"])

    def _hear(self, message: dict) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            self.text[content["name"]] += content["text"]
        elif message["msg_type"] == "display_data":
            self.displayed.append(content["data"])
        elif message["msg_type"] == "error":
            self.error = [" ".join(content["traceback"])]  # the lines of a folded sentence

    def start_group(self) -> None:
        """Have two ranks form a group, unless they have."""
        self.run("%%ranks 2\nif not dist.is_initialized():\n    dist.init_process_group('gloo')")
        assert self.succeeded, self.error

    def works(self) -> bool:
        """Tell whether the next cell works, on ranks that may be fresh."""
        self.start_group()
        cell = "%%ranks\nx = torch.ones(1)\ndist.all_reduce(x)\nprint(x.item())"
        return self.run(cell) == "rank 0: 2.0\nrank 1: 2.0\n"

    def restart(self) -> None:
        """Restart the kernel, as the button does."""
        self.manager.restart_kernel()
        self.client.wait_for_ready(timeout=300)
        self.run("%load_ext ddp_lessons")


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Notebook]:
    """Open a notebook, and shut it down at the end."""
    notebook = Notebook(folder)
    try:
        yield notebook
    finally:
        notebook.manager.shutdown_kernel(now=True)
