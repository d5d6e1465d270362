"""`launch` for a terminal: python -m ddp_lessons.workbench [lesson] [--ranks N] [options of the script]."""

import argparse
import math
import signal
import sys

from ddp_lessons.running.processes import STOPS
from ddp_lessons.workbench.launch import launch
from ddp_lessons.workbench.scripts import Refused


def main(arguments: list[str]) -> None:
    """Launch lesson 4, or the lesson named first, on two ranks or N; ends with an exit code."""
    came = []

    def stop(number: int, _frame: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup asks for that
            signal.signal(number, stop)
    try:
        launch_as_asked(arguments)
    except KeyboardInterrupt:
        sys.exit(128 + came[0])
    except Refused as error:
        print(f"{error}.", file=sys.stderr)
        sys.exit(128 + error.signal if getattr(error, "signal", 0) else 1)


def launch_as_asked(arguments: list[str]) -> None:
    """Tell the lesson and `--ranks` from what is for the script, and launch it."""
    lesson = "lesson4_ddp" if not arguments or arguments[0].startswith("-") else arguments.pop(0)
    parser = argparse.ArgumentParser(prog="start.py train", usage=argparse.SUPPRESS, add_help=False, allow_abbrev=False)
    parser.add_argument("--ranks", type=int, default=2)
    given, options = parser.parse_known_args(arguments)
    asks_for_help = {"-h", "--help"} & set(options)  # once is enough
    launch(lesson, *options, ranks=None if asks_for_help else given.ranks, timeout=math.inf)


if __name__ == "__main__":
    main(sys.argv[1:])
