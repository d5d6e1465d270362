"""A copy of this process, which may be killed while it works, find the disk full, or be listened to."""

import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable

PATIENCE = 2  # seconds until a copy that does not end is ended


def in_a_copy(work: Callable[[], object]) -> object:
    """Return what `work()` returns, if JSON can hold it, in a forked copy of this process; None if it was killed.

    The copy may be killed, or changed for good: this process goes on as it was. It has no threads, so `work` must do
    without those of torch.
    """
    answer, pipe = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            gc.disable()  # what others have left is theirs to clear away
            sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (the notebook hears only the original)
            os.write(pipe, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(pipe)
    try:
        return json.loads(read_all(answer) or "null")
    finally:
        os.close(answer)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def read_all(pipe: int) -> bytes:
    """Return what comes through a pipe until its other end is closed, or for some time."""
    content, deadline = b"", time.monotonic() + PATIENCE
    while select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
        if not (part := os.read(pipe, 65536)):
            break
        content += part
    return content


def outcome(work: Callable[[], object]) -> str:
    """Return what `work()` raises, in words; "" if it raises nothing."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 (whatever it is)
        return f"{type(error).__name__}: {error}"
    return ""


def killed_at(change: int, look: Callable[[], object], work: Callable[[], object]) -> bool:
    """Tell whether `work()` came to so many changes of what `look()` sees: there SIGKILL ends the copy that runs it."""

    def run() -> str:
        seen, changes = look(), 0

        def after_each_call(*_: object) -> None:
            nonlocal seen, changes
            now = look()
            changes += now != seen
            seen = now
            if changes == change:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(after_each_call)
        return outcome(work)

    return in_a_copy(run) is None


def with_full_disk(most: int, work: Callable[[], object]) -> str | None:
    """Return what `work()` raises, in words, where no file may be longer than `most` bytes; "" if nothing."""

    def run() -> str:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # or it would end us, instead of raising OSError
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        return outcome(work)

    return in_a_copy(run)


def noted(space: dict, work: Callable[[], object]) -> list | None:
    """Return what `work()` does that matters when the machine goes down, in order.

    That is {"call": "sync" or "rename", "file": its number, "bytes": how many the system has got of it}, and of a
    rename "source" and "target". `space` are the names that `work` uses, where os.fsync may be imported.
    """

    def run() -> list:
        notes = []
        syncs = {id(sync) for sync in (os.fsync, getattr(os, "fdatasync", None))}
        for names in (vars(os), space):
            for name in [name for name, value in names.items() if id(value) in syncs - {id(None)}]:
                names[name] = noting(names[name], notes)
        sys.addaudithook(lambda event, given: note_rename(notes, *given) if event == "os.rename" else None)
        outcome(work)
        return notes

    return in_a_copy(run)


def noting(sync: Callable, notes: list[dict]) -> Callable:
    """Return os.fsync, or its like, that notes what it was called for."""

    def noting_sync(file: object) -> None:
        sync(file)
        status = os.stat(file if isinstance(file, int) else file.fileno())
        notes.append({"call": "sync", "file": status.st_ino, "bytes": status.st_size})

    return noting_sync


def note_rename(notes: list[dict], source: object, target: object, *_: object) -> None:
    """Note that a file is about to get another name, however it was asked for."""
    if os.path.isfile(source):
        where = {"source": os.path.realpath(source), "target": os.path.realpath(target)}
        status = os.stat(source)
        notes.append({"call": "rename", "file": status.st_ino, "bytes": status.st_size} | where)
