"""Notes which files a rank writes and reads.

Events:
`file`: the reader's code, or a library it calls, is about to touch `path`; `did` says how: "write" (from empty), "new"
(it must not exist), "append", "update" (in place), "read", "move" (put there, from `source`), "remove", "mkdir" or
"lock". `exists`: was it there. Of many alike only the first are noted.
`store`: the script itself has set or awaited a key in a store: `did`.
What is in the files is noted in `weights.py`.
"""

import functools
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch.distributed as dist

from ddp_lessons.doctor.journal import Journal, here, is_readers
from ddp_lessons.doctor.watch import weights

MOST, ALIKE = 2000, 20  # events after which reads, of a data set, are let be; of a file and what is done to it
NOWHERE = ("/dev/", "/proc/", "/sys/", "/etc/", f"{Path.home()}/.cache/", f"{Path.home()}/.config/")
INSIDE = ("__pycache__", "site-packages", "dist-packages", "torchinductor_", f"{os.sep}triton{os.sep}")
CODE = (".py", ".pyc", ".so")
OF_FILES = {"read", "write", "append", "update", "new"}
STORES = {"set": "set", "add": "both", "get": "wait", "wait": "wait", "check": "wait", "compare_set": "both"}


class Files:
    """What has been noted of files in this process."""

    def __init__(self, journal: Journal):
        self.journal, self.alike, self.noted, self.busy = journal, Counter(), 0, False

    def touch(self, did: str, path: object, **more: object) -> None:
        """Note what is done to a file, if the reader's code is what does it."""
        if self.busy or not isinstance(path, str | bytes | os.PathLike):
            return
        name = os.fsdecode(path)
        if name.startswith(NOWHERE) or name.endswith(CODE) or any(part in name for part in INSIDE):
            return
        if did == "read" and (os.getpid() != self.journal.pid or self.noted >= MOST):
            return  # a loader's worker, or a loader
        alike = did, name, os.path.lexists(name)
        self.alike[alike] += 1
        if self.alike[alike] <= ALIKE and here():
            self.busy = True
            try:
                self.note(did, name, more)
            finally:
                self.busy = False

    def note(self, did: str, name: str, more: dict) -> None:
        """Note it, unless the file is not one of those that matter."""
        path, self.noted = os.path.realpath(name), self.noted + 1
        folder = did in OF_FILES and os.path.isdir(path)  # of a temporary file, which is opened under no name
        if not folder and not path.startswith((*NOWHERE, str(self.journal.folder))):
            self.journal.note("file", did=did, path=path, exists=os.path.lexists(path), **more)

    def opened(self, path: object, mode: str | None, flags: int) -> None:
        """Note that a file is opened."""
        self.touch(how(flags), path)

    def moved(self, source: object, path: object, from_folder: int = -1, to_folder: int = -1) -> None:
        """Note that a file gets another's name."""
        if (from_folder, to_folder) == (-1, -1) and not isinstance(source, int):
            self.touch("move", path, source=os.path.realpath(os.fsdecode(source)))

    def removed(self, path: object, folder: int = -1) -> None:
        """Note that a file is removed."""
        if folder == -1:
            self.touch("remove", path)

    def emptied(self, path: object, folder: int | None = None) -> None:
        """Note that a folder is removed, with all that is in it."""
        if folder is None:
            self.touch("remove", path)

    def made(self, path: object, mode: int, folder: int = -1) -> None:
        """Note that a folder is made."""
        if folder == -1:
            self.touch("mkdir", path)

    def locked(self, number: int, *_) -> None:
        """Note that a file is locked."""
        self.touch("lock", os.readlink(f"/proc/self/fd/{number}"))


def how(flags: int) -> str:
    """Return what a file is opened for."""
    if not flags & (os.O_WRONLY | os.O_RDWR):
        return "read"
    if flags & os.O_APPEND:
        return "append"
    if flags & os.O_EXCL:
        return "new"
    return "write" if flags & os.O_TRUNC else "update"


def watched_store(journal: Journal, did: str, function: Callable) -> Callable:
    """Return a store's method, noted where the script itself calls it."""

    @functools.wraps(function)
    def noted(self, *args, **kwargs):
        result = function(self, *args, **kwargs)
        if is_readers(sys._getframe(1).f_code.co_filename):
            journal.note("store", did=did)
        return result

    return noted


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on."""
    files = Files(journal)
    about = {"open": files.opened, "os.rename": files.moved, "os.remove": files.removed, "os.mkdir": files.made}
    about |= {"shutil.rmtree": files.emptied, "fcntl.flock": files.locked, "fcntl.lockf": files.locked}
    about = {event: journal.safely(function) for event, function in about.items()}

    def hook(event: str, arguments: tuple) -> None:
        if function := about.get(event):
            function(*arguments)

    sys.addaudithook(hook)
    for name, did in STORES.items():
        setattr(dist.Store, name, watched_store(journal, did, getattr(dist.Store, name)))
    weights.install(journal, journal.safely(files.touch))
