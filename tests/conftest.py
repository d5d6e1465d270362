"""A project folder of a test's own, with scripts that `launch` finds, from a notebook's kernel or from a terminal."""

import inspect
import signal
import subprocess
import sys
import uuid
from importlib import import_module

import pytest

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup all that tests start would ignore it
MODULES_WITH_ROOT = [f"ddp_lessons.workbench.{name}" for name in ("launch", "mnist", "program", "scripts")]
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
