"""Opens the course, trains or tests with one command, and makes .venv first where it is missing."""
# Standard library only, and readable by Python 3.8: an old Python has to get as far as saying so.

import hashlib
import os
import re
import shlex
import signal
import subprocess
import sys
import webbrowser
from pathlib import Path

USAGE = """usage: python3 start.py lab | train | test  [more arguments]

  lab    opens Jupyter Lab at lesson 1      (more arguments go to jupyter lab)
  train  trains lesson 4 on two ranks       (more arguments go to the script)
  test   runs the tests and the notebooks   (more arguments go to pytest)

Each first makes .venv and installs the project there, if that is not done yet."""

ROOT = Path(__file__).resolve().parent
PYPROJECT = ROOT / "pyproject.toml"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed.sha256"


def check_machine(version=sys.version_info, system=os.name):
    """Ends with one sentence where the course cannot run at all."""
    if system == "nt":
        sys.exit("On Windows the course runs inside WSL2: start it from a WSL2 terminal.")
    floor = re.search(r'requires-python = ">=(\d+)\.(\d+)"', PYPROJECT.read_text(encoding="utf-8"))
    if tuple(version[:2]) < (int(floor[1]), int(floor[2])):
        sys.exit(
            f"Python {version[0]}.{version[1]} is too old: the course needs {floor[1]}.{floor[2]} "
            "or newer, so start this file with a newer one, such as python3.12 start.py lab."
        )


def run(command, send=None, env=None, stderr=None):
    """Gives command's exit code; a signal that reaches us ends it, and then us with 128 + signal.

    The command runs in a session of its own, so that each signal reaches it once and as the one
    it ends best on: `send` says which, by the one that came; SIGTERM where it says nothing.
    With stderr=PIPE its stderr is passed on until then: what torchrun says of its end is noise.
    """
    child, came = None, []

    def forward(number, _frame=None):
        came.append(number)
        if child and child.returncode is None:
            os.killpg(child.pid, (send or {}).get(number, signal.SIGTERM))

    stops = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup asks for that
        stops.append(signal.SIGHUP)
    before = {stop: signal.signal(stop, forward) for stop in stops}
    env = dict(env or os.environ, VIRTUAL_ENV=str(VENV))
    env["PATH"] = os.pathsep.join([str(PYTHON.parent), env.get("PATH", os.defpath)])
    child = subprocess.Popen(command, cwd=ROOT, env=env, stderr=stderr, start_new_session=True)
    if came:  # while the child was being made
        forward(came[0])
    for line in child.stderr or ():
        if not came:
            sys.stderr.buffer.write(line)
            sys.stderr.flush()
    code = child.wait()
    for stop, handler in before.items():
        signal.signal(stop, handler)
    if came:
        sys.exit(128 + came[0])
    return code if code >= 0 else 128 - code


def fingerprint():
    """Gives what an installation depends on: the requirements, the Python, where the repo lies."""
    facts = [PYPROJECT.read_text(encoding="utf-8"), os.path.realpath(PYTHON), str(ROOT)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def is_installed():
    """Says whether .venv holds the project as pyproject.toml now describes it."""
    return PYTHON.exists() and STAMP.exists() and STAMP.read_text() == fingerprint()


def make_venv():
    """Makes .venv, or puts pip into one that lacks it; any other .venv stays as it is."""
    if not PYTHON.exists():
        print("Making .venv.", flush=True)
        code = run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    elif subprocess.call([str(PYTHON), "-c", "import pip"], stderr=subprocess.DEVNULL):
        code = run([str(PYTHON), "-m", "ensurepip"])
    else:
        return
    if code:
        sys.exit(
            "Python could not make .venv with pip in it: "
            "on Debian and Ubuntu run `apt install python3-venv`, then this command again."
        )


def install():
    """Installs the project into .venv, unless that is done."""
    if is_installed():
        return
    make_venv()
    if STAMP.exists():
        STAMP.unlink()  # so that an installation broken off is taken up again
    print("Installing the project into .venv; once done, this step is skipped.", flush=True)
    if sys.platform == "linux" and not any(VENV.glob("lib/python*/site-packages/torch")):
        print("With the CUDA libraries: about 3 GB to download, 6 GB on disk.", flush=True)
        print("The README has the smaller way, for CPUs only.", flush=True)
    if run([str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "-e", ".[dev]"]):
        sys.exit("The installation failed for the reason pip gives above; this command retries it.")
    STAMP.write_text(fingerprint())


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
    command = [str(PYTHON), "-m", "jupyterlab", "--ip=127.0.0.1", f"--ServerApp.root_dir={ROOT}"]
    command += ["--LabApp.default_url=/lab/tree/notebooks/lesson1_single_card.ipynb"]
    command += [] if has_browser() else ["--no-browser"]
    command += ["--allow-root"] if os.geteuid() == 0 else []
    # Ctrl-C asks "Shut down?", which takes someone who can answer
    return run(command + list(more), {signal.SIGINT: signal.SIGINT} if sys.stdin.isatty() else {})


def train(*more):
    """Trains lesson 4 on two ranks, and says how a person would type that."""
    arguments = ["--standalone", "--nproc-per-node", "2", "scripts/lesson4_ddp.py", *more]
    print("$", shlex.join(["torchrun", *arguments]), flush=True)
    env = dict(os.environ)
    env.setdefault("OMP_NUM_THREADS", "1")  # torchrun's own choice, without the banner about it
    command = [str(PYTHON), "-m", "torch.distributed.run", *arguments]
    return run(command, env=env, stderr=subprocess.PIPE)


def test(*more):
    """Runs every test and every notebook; pytest cleans up on Ctrl-C's signal only."""
    always = dict.fromkeys([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], signal.SIGINT)
    return run([str(PYTHON), "-m", "pytest", "--nbval", *more], always)


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
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        sys.exit(f"start.py could not go on: {error}.")
