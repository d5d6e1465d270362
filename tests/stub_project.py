"""A project as small as can be that the real start.py opens, installs and trains, with no network."""

import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
from wheels import write_wheel

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = """
[build-system]
requires = []
build-backend = "wheels"
backend-path = ["."]

[project]
name = "stub"
version = "1.0"
requires-python = ">=3.10"
"""
TEST = ["--nbval", "-n2", "--dist=loadfile", "--no-loadscope-reorder"]  # what start.py test gives to pytest
SAYS_ARGUMENTS = "import sys; print(sys.argv[1:], flush=True)\n"
LAUNCHER = r"""
import os, signal, subprocess, sys
child = subprocess.Popen(["sleep", "60"]) if sys.argv[1:] == ["wait"] else None

def end(number, _):
    child.kill()
    os.write(1, f"the launcher got {signal.Signals(number).name}\n".encode())
    os._exit(128 + number)

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, end)
print(sys.argv[1:], flush=True)
if child:
    child.wait()
"""


class Project:
    """The stub in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.venv = folder / ".venv"
        self.wheels = folder / "dist"

    def write(self, files=2):
        """Write the project, and the wheel it depends on, which has that many files."""
        (self.folder / "ddp_lessons" / "workbench").mkdir(parents=True)
        shutil.copytree(ROOT / "starting", self.folder / "starting", ignore=shutil.ignore_patterns("__pycache__"))
        for source in (ROOT / "start.py", ROOT / "tests" / "wheels.py"):
            shutil.copy(source, self.folder)
        (self.folder / "pyproject.toml").write_text(PYPROJECT)
        (self.folder / "pytest.py").write_text(SAYS_ARGUMENTS)
        (self.folder / "ddp_lessons" / "workbench" / "__main__.py").write_text(LAUNCHER)
        self.wheels.mkdir()
        tiny = {f"tiny/file{i}.txt": "text" for i in range(files)}
        write_wheel(self.wheels, "tiny", {"tiny/__init__.py": "", **tiny})
        return self

    def environment(self, **more):
        """The environment of a machine with no settings for pip but those that point at the wheels."""
        ours = ("PIP_", "PYTHON", "VIRTUAL_ENV")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        return {**kept, **pip, **more}

    def start(self, *arguments, inside=(), **more):
        """Start start.py there, in a session of its own; `more` goes to its environment."""
        return subprocess.Popen(
            [*inside, sys.executable, str(self.folder / "start.py"), *arguments],
            cwd=self.folder,
            env=self.environment(**more),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, *arguments, **more):
        """Run start.py to its end; gives exit code, stdout and stderr."""
        with self.start(*(arguments or ["test"]), **more) as process:
            out, err = process.communicate(timeout=600)
        return process.returncode, out, err

    def mark_installed(self):
        """Make the .venv without pip and call that installed: enough for the commands."""
        python = "from starting.install import STAMP, fingerprint; STAMP.write_text(fingerprint())"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.venv], check=True)
        subprocess.run([sys.executable, "-c", python], cwd=self.folder, check=True)
        return self

    def packages(self):
        """The folder of .venv's packages."""
        return next(self.venv.glob("lib/python*/site-packages"))

    def nothing_runs(self, seconds=30):
        """Say whether within this time no process is left that was started there."""
        ends = time.monotonic() + seconds
        while any(process.info["cwd"] == str(self.folder) for process in psutil.process_iter(["cwd"])):
            if time.monotonic() > ends:
                return False
            time.sleep(0.05)
        return True


@contextmanager
def breaks_off(folder):
    """Serve a folder's wheels at the address that this gives, each only to its middle."""

    class Half(SimpleHTTPRequestHandler):
        def copyfile(self, source, outputfile):
            data = source.read()
            outputfile.write(data[: len(data) // 2] if self.path.endswith(".whl") else data)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Half, directory=folder)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def last_line(text):
    """The sentence that start.py ends with."""
    return text.strip().splitlines()[-1]
