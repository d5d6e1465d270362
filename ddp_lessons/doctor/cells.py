"""The doctor in a notebook's cell."""

import contextlib
import os
import shlex

from ddp_lessons.doctor.__main__ import parse, report_on
from ddp_lessons.workbench.scripts import ROOT


def doctor(command: str) -> None:
    """Print what the doctor says of a script: `command` is what follows `ddp-doctor` in a terminal.

    Paths begin in the project's folder, as in the other commands of the course.
    """
    print(f"$ ddp-doctor {command}", flush=True)
    here = os.getcwd()
    os.chdir(ROOT)
    try:
        with contextlib.suppress(SystemExit):  # argparse has said what it does not understand
            report_on(parse(shlex.split(command)))
    finally:
        os.chdir(here)
