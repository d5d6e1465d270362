"""Opens the course, trains or tests with one command, and makes .venv first where it is missing."""
# Like starting/: standard library only, and readable by Python 3.8. An old Python has to get as far as saying so.

import _signal  # what signal wraps; it is there at once

if __name__ == "__main__":
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # before the other imports: Ctrl-C there left a traceback

import os
import signal
import sys
import webbrowser

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # for python3 -I, which leaves it out

from starting.install import floor, install
from starting.run import PYTHON, ROOT, run

USAGE = """usage: python3 start.py lab | train | test  [more arguments]

  lab    opens Jupyter Lab at lesson 1     (more arguments go to jupyter lab)
  train  trains lesson 4 on two ranks      ([LESSON] [--ranks N] [options of the script])
  test   runs tests, each notebook once    (--all: the slow tests too; more arguments go to pytest)

Each first makes .venv and installs the project there, if that is not done yet."""


def check_machine(version=sys.version_info, system=os.name):
    """Ends with one sentence where the course cannot run at all."""
    if system == "nt":
        sys.exit("On Windows the course runs inside WSL2: start it from a WSL2 terminal.")
    if tuple(version[:2]) < floor():
        needed = ".".join(map(str, floor()))
        sys.exit(
            f"Python {version[0]}.{version[1]} is too old: the course needs {needed} or newer, "
            "so start this file with a newer one, such as python3.12 start.py lab."
        )


def has_browser():
    """Says whether there is a screen, and a browser to open on it."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform == "linux" and not any(os.environ.get(screen) for screen in screens):
        return False  # webbrowser would find lynx, which takes the terminal over
    try:
        return bool(webbrowser.get())
    except webbrowser.Error:
        return False


def lab(*more):
    """Opens Jupyter Lab at lesson 1, for this machine only and with its token on."""
    command = [PYTHON, "-m", "jupyterlab", "--ip=127.0.0.1", f"--ServerApp.root_dir={ROOT}"]
    command += ["--LabApp.default_url=/lab/tree/notebooks/lesson1_single_card.ipynb"]
    command += [] if has_browser() else ["--no-browser"]
    command += ["--allow-root"] if os.geteuid() == 0 else []
    # Ctrl-C asks "Shut down?", which takes someone who can answer
    return run([*command, *more], {signal.SIGINT: signal.SIGINT} if sys.stdin and sys.stdin.isatty() else {})


def train(*more):
    """Trains a lesson on ranks; SIGTERM ends the launcher and them, and quietly even while it imports."""
    return run([PYTHON, "-m", "ddp_lessons.workbench", *more])


def test(*more):
    """Runs the tests, two files at a time, the longest first; pytest cleans up on Ctrl-C's signal only."""
    always = dict.fromkeys([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], signal.SIGINT)
    return run([PYTHON, "-m", "pytest", "--nbval", "-n2", "--dist=loadfile", "--no-loadscope-reorder", *more], always)


def main(arguments):
    """Gives the exit code of the command that was asked for."""
    commands = {"lab": lab, "train": train, "test": test}
    if arguments in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if not arguments or arguments[0] not in commands:
        print(USAGE, file=sys.stderr)
        return 2
    check_machine()
    install()
    return commands[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        sys.exit(f"start.py could not go on: {error}: put that right, then run this command again.")
