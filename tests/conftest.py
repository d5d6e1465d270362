"""What tests share: a project folder of their own, with scripts that `launch` finds, and a browser at Jupyter Lab."""

import inspect
import os
import shutil
import signal
import subprocess
import sys
import uuid
from importlib import import_module
from pathlib import Path

import pytest
from lab import Notebook, running_lab, write_notebook

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
SCREEN = {"width": 1280, "height": 1000}

# what tests start would ignore the one under nohup, and the other where a shell runs pytest in the background
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
MODULES_WITH_ROOT = [f"ddp_lessons.workbench.{name}" for name in ("launch", "mnist", "scripts")]
TERMINAL = """
import sys
from importlib import import_module
from pathlib import Path
for module in sys.argv[2].split():
    import_module(module).ROOT = Path(sys.argv[1])
from ddp_lessons.workbench.__main__ import main
main(sys.argv[3:])
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Write a script for `launch`, into a project folder of its own."""
    (tmp_path / "scripts").mkdir()
    for module in MODULES_WITH_ROOT:
        monkeypatch.setattr(import_module(module), "ROOT", tmp_path)

    def script(name, text):
        (tmp_path / "scripts" / f"{name}.py").write_text(inspect.cleandoc(text) + "\n")
        return name

    return script


@pytest.fixture
def terminal(tmp_path):
    """Start `python -m ddp_lessons.workbench` with arguments, in that project folder."""
    started = []

    def terminal(*arguments):
        command = [sys.executable, "-u", "-c", TERMINAL, str(tmp_path), " ".join(MODULES_WITH_ROOT), *arguments]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield terminal
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def mark(monkeypatch):
    """A word in the environment of all that a test starts."""
    word = f"mark-{uuid.uuid4()}"
    monkeypatch.setenv("DDP_LESSONS_MARK", word)
    return word


@pytest.fixture
def when_printed(monkeypatch):
    """Call `action` as soon as a word is printed."""

    def when_printed(word, action):
        class Screen:
            def write(self, text):
                if word in text:
                    action()

            def flush(self):
                pass

        monkeypatch.setattr(sys, "stdout", Screen())

    return when_printed


@pytest.fixture(scope="module")
def browser():
    """Chromium, without a window."""
    if CHROMIUM is None or sync_playwright is None:
        lacks = "the Python package playwright" if CHROMIUM else "Chromium (on Debian: apt install chromium)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"to drive Jupyter Lab in a browser takes {lacks}")
    with sync_playwright() as playwright:
        as_root = os.geteuid() == 0  # whom Chromium refuses its sandbox
        yield playwright.chromium.launch(executable_path=CHROMIUM, chromium_sandbox=not as_root)


@pytest.fixture(scope="module")
def course(browser, tmp_path_factory):
    """A folder with a copy of the course, and the Lab that serves it."""
    folder = tmp_path_factory.mktemp("course")
    with running_lab(folder) as address_of:
        yield folder, address_of


@pytest.fixture
def opened(browser, course, tmp_path):
    """Open a notebook of the course, or a new one of the given cells; its kernel is shut down in the end."""
    folder, address_of = course
    pictures = Path(os.environ.get("LESSON_PICTURES", tmp_path))
    pictures.mkdir(parents=True, exist_ok=True)
    notebooks = []

    def opened(name: str, *sources: str) -> Notebook:
        if sources:
            write_notebook(folder / "notebooks" / f"{name}.ipynb", *sources)
        page = browser.new_page(viewport=SCREEN)
        notebooks.append(Notebook(page, address_of(f"notebooks/{name}.ipynb"), pictures))
        notebooks[-1].picture("opened")
        return notebooks[-1]

    yield opened
    for notebook in notebooks:
        notebook.picture("end")
        notebook.shut_down()
    for context in browser.contexts:
        context.close()
