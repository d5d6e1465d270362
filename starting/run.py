"""Runs one command so that nothing of it is left, however this process ends."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"


def run(command, send=None, heard=None, **settings):
    """Gives command's exit code; a signal that reaches us ends it, and then us with 128 + signal.

    The command runs in a session of its own, so that each signal reaches it once and as the one
    it ends best on: `send` says which, by the one that came; SIGTERM where it says nothing.
    A list `heard` gets the lines of its stderr, which are passed on until a signal comes.
    The settings go to its environment.
    """
    child, came, send = None, [], send or {}

    def forward(number, _frame=None):
        came.append(number)
        if child and child.returncode is None:
            with contextlib.suppress(OSError):  # it ended this moment
                os.killpg(child.pid, send.get(number, signal.SIGTERM))

    before = {stop: signal.signal(stop, forward) for stop in signals()}
    stderr = None if heard is None else subprocess.PIPE
    child = subprocess.Popen(command, cwd=ROOT, env=environment(settings), stderr=stderr, start_new_session=True)
    shell = guard(child, send.get(signal.SIGTERM, signal.SIGTERM))
    if came:  # while the child was being made
        forward(came[0])
    for line in child.stderr or ():
        if not came:
            heard.append(line.decode(errors="replace"))
            print(heard[-1], end="", file=sys.stderr, flush=True)
    code = child.wait()
    shell.kill()
    shell.wait()
    for stop, handler in before.items():
        signal.signal(stop, handler)
    if came:
        with contextlib.suppress(OSError):  # nothing is left of its group, as it should be
            os.killpg(child.pid, signal.SIGKILL)
        sys.exit(128 + came[0])
    return code if code >= 0 else 128 - code


def signals():
    """Gives the signals that ask us to end."""
    keeps_on = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN  # nohup asks for that
    return [signal.SIGINT, signal.SIGTERM] + ([] if keeps_on else [signal.SIGHUP])


def environment(settings):
    """Gives the environment in which .venv is active, with these settings."""
    path = [str(PYTHON.parent), os.environ.get("PATH", os.defpath)]
    return dict(os.environ, VIRTUAL_ENV=str(VENV), PATH=os.pathsep.join(path), **settings)


def guard(child, number):
    """Starts a shell that waits for our end, SIGKILL included, and then ends child with all it started."""
    waits = "read _"  # until our end of the pipe is closed
    ends = 'kill -"$1" "-$0"; for _ in 1 2 3 4 5 6 7 8; do sleep 1; kill -0 "-$0" || exit; done; kill -9 "-$0"'
    command = ["sh", "-c", f"{waits}; {ends}", str(child.pid), str(int(number))]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, **silent)
