"""The doctor's command line: `python -m ddp_lessons.doctor train.py`, or `ddp-doctor train.py`."""

import argparse
import os
import signal
import sys
from pathlib import Path

from ddp_lessons.doctor import report
from ddp_lessons.doctor.command import unwrapped
from ddp_lessons.doctor.judge import CODES, findings, grade
from ddp_lessons.doctor.patient import Interrupted, examine
from ddp_lessons.running.processes import STOPS

COULD_NOT_RUN = 2
MOST = 64  # ranks


def main() -> int:
    """Look at the script on the command line; return 0, 1 for a fault, 2 if it could not be run."""
    for number in STOPS:
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup asks for another
            signal.signal(number, signal.default_int_handler)
    try:
        code = report_on(parse(sys.argv[1:]))
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BrokenPipeError:  # whoever reads the report has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)  # we are leaving
    return code


def report_on(args: argparse.Namespace) -> int:
    """Run a script, print what is wrong with it, and return the exit code."""
    to = sys.stderr if args.json else sys.stdout
    hear = (lambda line: print(line, end="", file=to, flush=True)) if args.show_output else (lambda line: None)
    try:
        run, why = examine(args.script, args.arguments, args.ranks, args.limit_steps, args.timeout, hear)
    except Interrupted as stop:
        print("interrupted: all processes were ended", file=sys.stderr)
        return 128 + stop.args[0]
    except OSError as error:
        print(f"{args.script} could not be started: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    found = report.chosen(findings(run), args.select, args.ignore)
    print((report.as_json if args.json else report.text)(run, found, why))
    return 1 if any(grade(one) == "fault" for one in found) else COULD_NOT_RUN if why else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options; end with exit code 2 and a sentence where they cannot be."""
    parser = argparse.ArgumentParser("ddp-doctor", description="Find what is wrong with a DDP training script.")
    parser.add_argument("--ranks", type=int, help="how many ranks run it: 2, or as a launcher's command says")
    parser.add_argument("--limit-steps", type=int, metavar="N", help="end it after N optimizer steps")
    parser.add_argument("--timeout", type=float, default=600, help="seconds after which it is ended")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--select", type=codes, default=[], help="only these codes, as in DDP2,DDP301")
    parser.add_argument("--ignore", type=codes, default=[], help="all codes but these")
    parser.add_argument("--show-output", action="store_true", help="print what the script prints")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("script", nargs="?", help="the script, or the command line that launches it")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own options")
    args = parser.parse_args(arguments)
    launch(parser, args)
    if Path(args.script).suffix == ".ipynb" or Path(args.script).is_dir():
        parser.error(f"{args.script} is a notebook or a folder: give a script, as torchrun takes it")
    if not Path(args.script).is_file():
        parser.error(f"there is no script {args.script}")
    if not 2 <= args.ranks <= MOST:
        parser.error(f"--ranks {args.ranks}: what is wrong among ranks shows on 2 to {MOST}")
    if args.limit_steps is not None and args.limit_steps < 1 or args.timeout <= 0:
        parser.error("--limit-steps and --timeout are numbers above 0")
    return args


def launch(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Take ranks, script and its arguments from a launcher's command line, if that is what was given."""
    words = ["-m", *args.module] if args.module else [args.script, *args.arguments]
    if not words[0]:
        parser.error("there is no script: give one, as in ddp-doctor --ranks 2 train.py")
    try:
        ranks, args.script, args.arguments = unwrapped(words)
    except ValueError as error:
        parser.error(str(error))
    args.ranks = (ranks or 2) if args.ranks is None else args.ranks


def codes(text: str) -> list[str]:
    """Return the beginnings of codes in a list with commas."""
    names = [name.strip().upper() for name in text.split(",")]
    for name in names:
        if not any(name and code.startswith(name) for code in CODES):
            raise argparse.ArgumentTypeError(f"no code begins with {name!r}")
    return names


if __name__ == "__main__":
    sys.exit(main())
