"""Makes .venv with the project in it, and makes whole what was broken off, moved or lost."""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys

from starting.repair import follow_move, forget_broken
from starting.run import PYTHON, ROOT, VENV, run

PYPROJECT = ROOT / "pyproject.toml"
STAMP = VENV / "installed.sha256"
TEMPORARY = VENV / "tmp"  # for pip: it puts 3 GB there, which is much for /tmp, and leaves them when it is killed
REASONS = {  # words in what a failed step says, and what to do then; the first that fits
    "No space left|[Qq]uota exceeded": (
        "The disk, or your share of it, is full: make room in {root}, then run this command again."
    ),
    "connection broken|Max retries|ConnectionError|timed out|network connectivity|Wheel .* is invalid": (
        "The network is missing, or it broke off: once it is back, run this command again; it goes on from there."
    ),
    "No module named '?(venv|ensurepip)": (
        "This Python cannot make a .venv with pip in it: "
        "on Debian and Ubuntu run `apt install python3-venv`, then this command again."
    ),
    "No matching distribution": (
        "There is no version of the package named above for this Python and machine: "
        "start this file with another Python, such as python3.12 start.py lab."
    ),
    "exit code 137": (
        "The installation was killed, perhaps for lack of memory: end other programs, then run this command again."
    ),
    "": "The installation failed for the reason given above: put that right, then run this command again.",
}


def install():
    """Installs the project into .venv, unless that is done; of two at once, one waits for the other."""
    if is_installed():
        return
    with PYPROJECT.open("r+") as file:  # for a lock that the system lets go with us; nothing is written
        wait_for_others(file)
        if is_installed():
            return
        with contextlib.suppress(FileNotFoundError):
            STAMP.unlink()  # so that an installation broken off is taken up again
        forget_broken(VENV)
        shutil.rmtree(TEMPORARY, ignore_errors=True)  # of an installation that was killed
        check_room()
        try:
            make_venv()
            print("Installing the project into .venv; once done, this step is skipped.", flush=True)
            step(PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "-e", ".[dev]")
        finally:
            shutil.rmtree(TEMPORARY, ignore_errors=True)
        os.sync()  # after a power cut the stamp must not be there without the files
        STAMP.write_text(fingerprint())


def is_installed():
    """Says whether .venv holds the project as pyproject.toml now describes it."""
    return PYTHON.exists() and STAMP.exists() and STAMP.read_text() == fingerprint()


def fingerprint():
    """Gives what an installation depends on: the requirements, the Python, where the repo lies."""
    facts = [PYPROJECT.read_text(encoding="utf-8"), os.path.realpath(PYTHON), str(ROOT)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def floor():
    """Gives the oldest Python that pyproject.toml allows, such as (3, 10)."""
    found = re.search(r'requires-python = ">=(\d+)\.(\d+)"', PYPROJECT.read_text(encoding="utf-8"))
    return int(found[1]), int(found[2])


def wait_for_others(file):
    """Locks the file, after any other start.py of this folder is done installing."""
    import fcntl  # not at the top: Windows lacks it, and has to be told so first

    with contextlib.suppress(OSError):  # some network file systems have no locks
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another start.py is installing here: waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)


def check_room():
    """Ends with one sentence where the disk is too small, before anything is downloaded."""
    if PYTHON.exists() and any(VENV.glob("lib/python*/site-packages/torch-*.dist-info")):
        return
    cuda = sys.platform == "linux" and platform.machine() == "x86_64"  # what pip gets there
    needed, smaller = (9, ", or install for CPUs only, as the README says") if cuda else (2, "")
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < needed:
        sys.exit(
            f"The disk is too full: installing takes about {needed} GB in {ROOT}, a third of it only for a while, "
            f"and {free:.1f} GB are free: make room{smaller}, then run this command again."
        )
    if cuda:
        print("With the CUDA libraries: about 3 GB to download, 6 GB on disk.", flush=True)
        print("The README has the smaller way, for CPUs only.", flush=True)


def make_venv():
    """Makes .venv, where no Python in it can be used, and puts pip into one that lacks it."""
    if not answers(f"import sys; sys.exit(sys.version_info < {floor()})"):
        lost = " anew: the Python in it is gone, too old, or does not run" if VENV.exists() else ""
        print(f"Making .venv{lost}.", flush=True)
        step(sys.executable, "-m", "venv", "--clear", "--without-pip", VENV)
    elif follow_move(VENV):
        wider = "include-system-site-packages = true" in (VENV / "pyvenv.cfg").read_text(encoding="utf-8")
        step(PYTHON, "-m", "venv", "--without-pip", *["--system-site-packages"] * wider, VENV)
    TEMPORARY.mkdir(exist_ok=True)
    if not answers("from importlib.metadata import version; version('pip')"):
        step(PYTHON, "-m", "ensurepip", "--upgrade", "--default-pip")  # as venv does: without, there is no bin/pip


def answers(code):
    """Says whether .venv's Python is there and runs this code to a good end."""
    try:
        return not subprocess.call([PYTHON, "-c", code], stderr=subprocess.DEVNULL)
    except OSError:
        return False


def step(*command):
    """Runs one command of the installation, or ends with the sentence that fits what it said."""
    heard = []
    code = run(command, heard=heard, **({"TMPDIR": str(TEMPORARY)} if TEMPORARY.exists() else {}))
    if code:
        heard.append(f"exit code {code}")
        sys.exit(next(REASONS[words] for words in REASONS if re.search(words, "".join(heard))).format(root=ROOT))
