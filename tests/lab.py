"""Jupyter Lab as `start.py lab` starts it, and a notebook open in it: what a reader does, and what they see."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from ranks import gone
from stub_project import ROOT

from ddp_lessons.running.processes import end_with_parent

SECONDS = 300  # for all that is waited for: a time-out tells a hang, even on a machine with much else to do
STATE = """() => {
    const notebook = window.jupyterapp?.shell.currentWidget
    const cells = notebook?.content?.model?.sharedModel?.toJSON().cells ?? []
    return [notebook?.sessionContext?.session?.kernel?.status, cells.filter(cell => cell.cell_type === "code")]
}"""
SHUT_DOWN = "jupyterapp.serviceManager.sessions.shutdownAll().then(() => true, () => false)"  # false amid a restart
SCROLL = "p => { const top = p.scrollTop; p.scrollTop += p.clientHeight - 40; return p.scrollTop > top }"


@contextmanager
def running_lab(folder: Path) -> Iterator[Callable[[str], str]]:
    """Serve a copy of the course that is made in `folder`; give what returns the address of a file in it.

    A copy, since Lab saves what it runs, and a lesson writes its script. No process is left in the end.
    """
    for name in ("notebooks", "ddp_lessons", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    for name in ("data", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    mark = uuid.uuid4().hex
    server = start_lab(folder, mark)
    try:
        facts = facts_of(server, folder)
        yield lambda file: f"{facts['url']}lab/tree/{file}?reset&token={facts['token']}"
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
        assert gone(mark)


def start_py():
    """Return start.py as a module of its own, so that its settings may be bent."""
    sys.path.insert(0, str(ROOT))  # for starting/, which no package holds
    spec = importlib.util.spec_from_file_location("start_of_a_test", ROOT / "start.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def start_lab(folder: Path, mark: str) -> subprocess.Popen:
    """Start the command that `start.py lab` runs, with `mark` in its environment, and nothing of the user's own."""
    start = start_py()
    start.ROOT, start.PYTHON = folder, Path(sys.executable)
    start.has_browser, start.run = lambda: False, lambda command, *_: command
    command = start.lab("--LabApp.expose_app_in_browser=True")  # for STATE
    env = os.environ | {"PYTHONPATH": str(folder), "LAB_OF_A_TEST": mark}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        env[name] = str(folder / f".{name.lower()}")
    with open(folder / "lab.log", "w") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=lambda: end_with_parent(signal.SIGTERM),  # noqa: PLW1509 (it makes a single system call)
        )


def facts_of(server: subprocess.Popen, folder: Path) -> dict:
    """Return what the server writes down of itself once it is up: its address, its token."""
    written = folder / ".jupyter_runtime_dir" / f"jpserver-{server.pid}.json"
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            return json.loads(written.read_text())
        except (FileNotFoundError, json.JSONDecodeError):  # not there yet, or half-written
            time.sleep(0.1)
    pytest.fail("Lab did not start:\n" + (folder / "lab.log").read_text())


def write_notebook(path: Path, *sources: str) -> None:
    """Write a notebook of code cells that have not run."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    spec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": spec}), path)


class Notebook:
    """A notebook open in Lab. Code cells are counted from 0; pictures are called after it."""

    def __init__(self, page, address: str, pictures: Path):
        self.page, self.pictures = page, pictures
        self.name = Path(address.partition("?")[0]).stem
        page.goto(address)
        self.until(lambda: self.kernel == "idle")

    @property
    def kernel(self) -> str | None:
        """What the kernel does: "idle", "busy", …; None if there is none."""
        return self.page.evaluate(STATE)[0]

    @property
    def cells(self) -> list[dict]:
        """The code cells, with their outputs, as they would be saved."""
        return self.page.evaluate(STATE)[1]

    @property
    def numbers(self) -> list[int | None]:
        """The numbers in front of the code cells; None where one has not ended."""
        return [cell["execution_count"] for cell in self.cells]

    @property
    def kinds(self) -> set[str]:
        """The kinds of all outputs: "display_data", "error", "stdout", "stderr", …"""
        outputs = [output for cell in self.cells for output in cell["outputs"]]
        return {output.get("name", output["output_type"]) for output in outputs}

    def seen(self, cell: int) -> str:
        """Return what the page shows below a cell."""
        outputs = self.page.locator(".jp-Notebook .jp-CodeCell").nth(cell).locator(".jp-OutputArea-output")
        return "\n".join(text.strip() for text in outputs.all_inner_texts())

    def start(self, cell: int) -> None:
        """Start a cell with the keyboard."""
        self.page.locator(".jp-Notebook .jp-CodeCell .cm-content").nth(cell).click()
        self.page.keyboard.press("Shift+Enter")

    def run(self, cell: int) -> None:
        """Run a cell to its end."""
        self.start(cell)
        self.until(lambda: self.ended(cell))

    def ended(self, cell: int) -> bool:
        """Tell whether a cell has ended, and nothing else runs."""
        return self.numbers[cell] is not None and self.kernel == "idle"

    def run_all(self, seconds: float = SECONDS) -> None:
        """Run all cells from the menu, until they have ended or one has failed."""
        self.choose("Run", "Run All Cells")
        self.until(lambda: None in self.numbers)  # so the numbers are no longer the stored ones
        self.until(lambda: self.ended(-1) or "error" in self.kinds, seconds)

    def choose(self, menu: str, item: str) -> None:
        """Click on an item of a menu."""
        self.page.locator(".lm-MenuBar-item").get_by_text(menu, exact=True).click()
        self.page.locator(".lm-Menu-item").get_by_text(item, exact=True).click()

    def shut_down(self) -> None:
        """Shut the kernel down, whatever it does."""
        self.until(lambda: self.page.evaluate(SHUT_DOWN))

    def picture(self, name: str) -> None:
        """Take a picture of the window."""
        self.page.screenshot(path=self.pictures / f"{self.name}-{name}.png")

    def pictures_of_all(self) -> None:
        """Take pictures of the whole notebook, a screen each."""
        panel = self.page.locator(".jp-Notebook .jp-WindowedPanel-outer")
        panel.evaluate("panel => { panel.scrollTop = 0 }")
        self.picture("00")
        screen = 0
        while panel.evaluate(SCROLL):
            screen += 1
            self.picture(f"{screen:02}")

    def until(self, ready: Callable[[], bool], seconds: float = SECONDS) -> None:
        """Wait until something is so. Fails, with a picture, if it is not in time."""
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > deadline:
                self.picture("late")
                pytest.fail(f"not so after {seconds} s: see {self.pictures}/{self.name}-late.png")
            time.sleep(0.1)
