"""What an attempt to save a file leaves: undisturbed, killed on the way, on a full disk."""

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

from ddp_lessons.workbench.exercises.killed import in_a_copy, killed_at, noted, outcome, with_full_disk

OLD, NEW = b"old content " * 400, b"the new one " * 250  # less than what an open file holds back until it is flushed
ROOM = 1000  # bytes that the full disk has left
MOMENTS = 20  # at most, in which it is killed
OTHER = "other"  # a file beside it, which is nobody's business


class Place:
    """A file `path` in a folder of its own, which has the old content, or is not there yet."""

    def __init__(self, folder: str, has_old: bool):
        self.folder, self.path, self.has_old = folder, f"{folder}/weights", has_old
        for name, content in [(OTHER, b"")] + [("weights", OLD)] * has_old:
            with open(f"{folder}/{name}", "wb") as file:
                file.write(content)

    @property
    def found(self) -> str:
        """What somebody finds who reads the file."""
        if not os.path.isfile(self.path):
            return "no file"
        with open(self.path, "rb") as file:
            content = file.read()
        words = {OLD: "the old content", NEW: "the new content", b"": "an empty file"}
        return words.get(content, f"{len(content)} bytes that are neither")

    @property
    def beside(self) -> dict[str, bool]:
        """All else that is in the folder: names, and whether there is something in it."""
        folders = os.walk(self.folder)
        paths = [os.path.join(folder, name) for folder, inner, files in folders for name in inner + files]
        others = [path for path in paths if path != self.path]
        return {os.path.relpath(path, self.folder): os.lstat(path).st_size > 0 for path in others}

    def look(self) -> tuple:
        """Return all that can be seen from outside."""
        return self.found, self.beside

    def facts(self) -> dict:
        """Return all of it, for the judge."""
        return {"had": self.has_old, "found": self.found, "beside": sorted(self.beside.keys() ^ {OTHER})}


@contextmanager
def place(has_old: bool) -> Iterator[Place]:
    """Give a place, and take it away in the end. Who names no folder, or a temporary one, writes elsewhere."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as elsewhere, tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(elsewhere)
            with patch.object(tempfile, "tempdir", elsewhere):
                yield Place(folder, has_old)
        finally:
            os.chdir(here)


def try_save(attempt: Callable) -> dict[str, list]:
    """Return what the attempt leaves: undisturbed, killed in each moment, on a full disk, where it cannot rename."""
    outputs = {"plain": [], "killed": [], "full": []}
    for has_old in (False, True):
        with place(has_old) as at:
            attempt(NEW, at.path)
            outputs["plain"].append(at.facts())
    for has_old in (True, False):
        outputs["killed"] += kills(attempt, has_old)
        with place(has_old) as at:
            raised = with_full_disk(ROOM, partial(attempt, NEW, at.path))
            outputs["full"].append(at.facts() | {"raised": raised, "why": os.strerror(errno.EFBIG)})
    with place(has_old=True) as at:
        notes = noted(attempt.__globals__, partial(attempt, NEW, at.path)) or []
        target = os.path.realpath(at.path)
        outputs["notes"] = [note for note in notes if note["call"] == "sync" or note["target"] == target]
    return outputs | {"no_name": [no_name(attempt)]}


def kills(attempt: Callable, has_old: bool) -> list[dict]:
    """Return what is left when it is killed at the first change in the folder, at the second and so on.

    And what is there when it is then called again.
    """
    outputs = []
    for moment in range(1, MOMENTS + 1):
        with place(has_old) as at:
            save = partial(attempt, NEW, at.path)
            if not killed_at(moment, at.look, save):
                break
            facts = at.facts()
            outputs.append(facts | {"raised": in_a_copy(partial(outcome, save)), "then": at.found})
    return outputs


def no_name(attempt: Callable) -> dict:
    """Return what is left when a folder stands where the file is to be, so that it cannot get its name."""
    with place(has_old=False) as at:
        os.mkdir(at.path)
        raised = in_a_copy(partial(outcome, partial(attempt, NEW, at.path)))
        return at.facts() | {"raised": raised, "why": ""}
