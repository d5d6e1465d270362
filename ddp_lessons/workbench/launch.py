"""A script of the course, run from a notebook as a reader would run it in a terminal."""

import argparse
import re
import shlex
import textwrap
from pathlib import Path
from types import ModuleType

from ddp_lessons.running.processes import held_back
from ddp_lessons.running.program import FAILED, Program, ended, last_line
from ddp_lessons.running.torchrun import torchrun_command
from ddp_lessons.workbench.mnist import mend_mnist
from ddp_lessons.workbench.scripts import ROOT, Refused, script_path

MOST = 64  # ranks on one machine


class Run(list):
    """The lines that a script printed. Shown as their number: they have been seen as they came."""

    def __repr__(self) -> str:
        return f"<{len(self)} lines>"

    @property
    def epochs(self) -> list[tuple[float, float, float]]:
        """What the script printed of each epoch: test loss, accuracy in percent, seconds of training."""
        line = re.compile(r"epoch \d+: test loss ([\d.]+), accuracy ([\d.]+)%, trained in ([\d.]+) s")
        return [tuple(map(float, found.groups())) for found in map(line.match, self) if found]


class LaunchError(Refused):
    """A launched script did not end well; `signal` is the number of the one that stopped it, or 0."""

    signal = 0


def launch(
    lesson: ModuleType | str, *options: object, ranks: int | None = None, timeout: float = 600, stuck: float = 60
) -> Run:
    """Run the script of a lesson, or of that name, on `ranks` ranks; with no ranks, under plain `python`.

    Each rank computes on one core, as it would on one card: two ranks have twice the means of one.
    Prints the shell command first, then what the script prints, as it comes; returns those lines.
    Raises LaunchError if the script fails, if it is not done within `timeout` seconds, or if for `stuck` seconds no
    rank prints or computes anything: then it says where each rank was. Nothing is left running.
    """
    shown, arguments = command_of(lesson, options, ranks, timeout, stuck)
    print(shown, flush=True)
    return stream(arguments, timeout, stuck)


def command_of(
    lesson: ModuleType | str, options: tuple, ranks: int | None, timeout: float, stuck: float = 60
) -> tuple[str, list[str]]:
    """Return the shell command that runs a script, and the arguments with which Python does the same.

    Raises LaunchError for what cannot be run. MNIST is made whole for a script that reads it.
    """
    path = script_path(Path(lesson).stem if isinstance(lesson, str) else lesson)
    if not path.is_file():
        names = ", ".join(sorted(p.stem for p in path.parent.glob("*.py")))
        raise LaunchError(f"there is no script {path.stem}; write_script makes one of a lesson, and there are {names}")
    check_numbers(options, ranks, timeout, stuck)
    script = [f"scripts/{path.name}", *map(str, options)]
    if "datasets.MNIST" in path.read_text():
        mend(script)
    command = ["python"] if ranks is None else torchrun_command(ranks)
    arguments = script if ranks is None else ["-m", "torch.distributed.run", *command[1:], *script]
    return f"$ OMP_NUM_THREADS=1 {shlex.join(command + script)}", arguments


def check_numbers(options: tuple, ranks: object, timeout: object, stuck: object) -> None:
    """Raise LaunchError where a number cannot be what it is meant for."""
    if options and isinstance(options[0], int):
        raise LaunchError(f"a script has no option {options[0]}; ranks={options[0]} starts as many ranks")
    if ranks is not None and not (type(ranks) is int and 1 <= ranks <= MOST):
        raise LaunchError(f"{ranks!r} ranks cannot be started: their number is a whole one from 1 to {MOST}")
    for name, seconds in {"timeout": timeout, "stuck": stuck}.items():
        if not (isinstance(seconds, int | float) and seconds > 0):
            raise LaunchError(f"{name}={seconds!r} is no number of seconds above 0")


def mend(script: list[str]) -> None:
    """Make the MNIST that a script is to read whole, where that can be done."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--data", nargs="?", default="data")
    folder = parser.parse_known_args(script)[0].data or "data"
    try:
        mend_mnist(ROOT / folder)
    except (OSError, ValueError) as error:
        raise LaunchError(f"no MNIST can be put into {folder!r}: {error}; give another folder with --data") from None


def stream(arguments: list[str], timeout: float, stuck: float = 60) -> Run:
    """Run Python in the project's folder, one thread a process; print each line as it comes, return them all.

    What is said on stderr comes at the end, that of the rank that failed first, first. Raises LaunchError as `launch`.
    """
    with held_back() as stops:
        try:
            program = Program(arguments, ROOT)
        except OSError as error:
            raise LaunchError(f"the script could not be started: {error}") from None
        try:
            lines = Run(map(echo, program.lines(timeout, stuck, stops)))
        finally:
            program.end()
    if program.broken_off or stops:
        error = LaunchError(f"{program.broken_off or 'interrupted'}: {program.where()}; all its processes were ended")
        error.signal = stops[0] if stops else 0
        raise error
    if program.process.returncode:
        raise LaunchError(why_it_failed(program))
    print(*filter(None, program.said().values()), sep="", end="", flush=True)
    return lines


def echo(line: str) -> str:
    """Print a line at once, and return it."""
    print(line, end="", flush=True)
    return line.rstrip("\n")


def why_it_failed(program: Program) -> str:
    """Return a sentence about the rank that failed first, and print its traceback, if it has left one."""
    found = FAILED.search(program.launcher_said())
    code, rank = map(int, found.groups()) if found else (program.process.returncode, 0)
    said = program.said()
    if program.torchrun and not found:
        return f"torchrun {ended(code)}" if code < 0 else f"torchrun failed: {last_line(program.launcher_said())}"
    if code > 0 and "Traceback" in said.get(rank, ""):  # of two that ended within a moment, torchrun names the lower
        rank = next(other for other, text in said.items() if "Traceback" in text)
    name = f"rank {rank}" if program.torchrun else "the script"
    if "Traceback" not in said.get(rank, "") and code > 0:
        return last_line(said.get(rank, "")) or f"{name} {ended(code)}"
    print(said.pop(rank, ""), end="", flush=True)
    for other, text in said.items():
        if text:
            print(f"rank {other} then said: {textwrap.shorten(last_line(text), 150, placeholder=' ...')}", flush=True)
    return f"{name} {ended(code)}" + "; its traceback is above" * (code > 0)
