"""SIGTERM may come twice at once: from torchrun, and from a scheduler that sends it to every process of a job."""

import subprocess
import sys

from stub_project import ROOT

PROGRAM = """
import os, signal, sys
from ddp_lessons.blocks.stop import listen_for_stop

asked, more = listen_for_stop(os.getppid()), 0

def at_each_line(frame, event, argument):  # of the handler, and of what it calls
    global more
    if event == "line":
        more += 1
        signal.raise_signal(signal.SIGTERM)
    return at_each_line

before = asked()
sys.settrace(at_each_line)
signal.raise_signal(signal.SIGTERM)
sys.settrace(None)
print(before, asked(), more > 0)
"""


def test_a_second_sigterm_in_the_middle_of_the_first_stops_nothing_but_the_training():
    command = [sys.executable, "-c", PROGRAM]
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=600, check=True).stdout
    assert said == "False True True\n"
