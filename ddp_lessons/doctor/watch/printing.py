"""Notes the first lines that the script's own code prints at each place, on stdout or stderr.

Events:
`printed`: a line, `text`, was printed, directly or through a library that only prints; `to` is the stream's name.
"""

import functools
import os
import sys
from typing import TextIO

from ddp_lessons.doctor.journal import Journal, is_readers

EACH = 3  # lines noted of a place
MOST = 1000  # lines looked at in all: after them the stream is again as it was
LONGEST = 200  # characters noted of a line
PRINTERS = {"logging", "tqdm", "loguru", "rich", "click", "absl"}


def printing_line() -> list | None:
    """Return the reader's line that prints; None if it is a library that has something to say by itself."""
    frame = sys._getframe(4)  # who calls the stream's write
    while frame and not is_readers(frame.f_code.co_filename):
        parts = frame.f_code.co_filename.split(os.sep)
        if not PRINTERS.intersection(parts):
            return None
        frame = frame.f_back
    return [frame.f_code.co_filename, frame.f_lineno] if frame else None


class Printing:
    """What a stream has been given so far."""

    def __init__(self, journal: Journal, stream: TextIO):
        self.journal, self.stream, self.line, self.lines = journal, stream, "", 0
        self.counts: dict[tuple, int] = {}

    def heard(self, text: str) -> None:
        """Take a text that is printed; note the lines that end with it."""
        self.line = (self.line + text[:LONGEST])[:LONGEST]
        if ("\n" not in text and "\r" not in text) or os.getpid() != self.journal.pid:
            return
        line, self.line, place = self.line.strip(), "", printing_line()
        self.lines += 1
        if self.lines == MOST:
            del self.stream.write
        if line and place and self.counts.get(tuple(place), 0) < EACH:
            self.counts[tuple(place)] = self.counts.get(tuple(place), 0) + 1
            self.journal.note("printed", to=self.stream.name, text=line[:LONGEST])


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on: the streams stay the objects they are, with a `write` of ours before theirs."""
    for stream in (sys.stdout, sys.stderr):
        listen(journal, stream)


def listen(journal: Journal, stream: TextIO) -> None:
    """Have a stream's lines noted; not one that is of no usual kind."""
    write, heard = stream.write, journal.safely(Printing(journal, stream).heard)

    @functools.wraps(write)
    def watched(text: str) -> int:
        heard(text)
        return write(text)

    try:
        stream.write = watched
    except AttributeError:
        pass
