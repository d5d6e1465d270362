"""Notes how a rank is launched, joins the others, and speaks; what it is told is noted in `words.py` and others.

Events:
`launch`: at the start: the launcher's `port`, and what `numbers` in command line and environment could be ports.
`init`: the script joins a group, with its `method` (an address, or None) and `store`: whether it gives one.
`initialized`: it has joined it.
`address`: the script makes a store by hand, on `port`.
`chosen`: the script asks the system for a free port.
`unfit`: the doctor cannot look at this script, and `why`.
"""

import functools
import multiprocessing
import multiprocessing.process
import os
import re
import signal
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.multiprocessing

from ddp_lessons.doctor.journal import Journal, is_readers
from ddp_lessons.doctor.watch import options, printing, words
from ddp_lessons.doctor.watch.collectives import waiting

SPAWNS = "the script starts its own ranks: the doctor, like torchrun, is what starts them; have it join as one of them"
NCCL = "it asks for nccl, which takes GPUs, and here it runs on the CPU: give init_process_group gloo if there is none"


class Unfit(RuntimeError):
    """The doctor cannot look at this script."""


def refuse(journal: Journal, why: str) -> None:
    """End the script with the reason."""
    journal.note("unfit", why=why)
    if os.getpid() != journal.pid:
        os.kill(journal.pid, signal.SIGTERM)  # the rank, which may wait for this process
    raise Unfit(why)


def watch_joining(journal: Journal) -> None:
    """Have `init_process_group` noted; a process that the script has started itself may not call it."""
    init = dist.init_process_group

    @functools.wraps(init)
    def watched(backend=None, init_method=None, *args, **kwargs):
        if os.getpid() != journal.pid:
            refuse(journal, SPAWNS)
        if str(backend).lower() == "nccl" and not torch.cuda.is_available():
            refuse(journal, NCCL)
        journal.note("init", method=init_method, store=kwargs.get("store") is not None)
        with waiting(journal, "init_process_group"):
            init(backend, init_method, *args, **kwargs)
        journal.note("initialized")

    dist.init_process_group = dist.distributed_c10d.init_process_group = watched


def watch_stores(journal: Journal) -> None:
    """Have stores noted that the script makes by hand."""
    init = dist.TCPStore.__init__

    def note(host_name: str, port: int, *_, **__) -> None:
        journal.note("address", host=host_name, port=int(port))

    def note_bound(_, address: object) -> None:
        if isinstance(address, tuple) and address[1] == 0:
            journal.note("chosen")

    note, note_bound = journal.safely(note), journal.safely(note_bound)

    @functools.wraps(init)
    def watched(self, *args, **kwargs):
        if is_readers(sys._getframe(1).f_code.co_filename):
            note(*args, **kwargs)
        init(self, *args, **kwargs)

    def hook(event: str, arguments: tuple) -> None:
        if event == "socket.bind" and is_readers(sys._getframe(1).f_code.co_filename):
            note_bound(*arguments)

    sys.addaudithook(hook)
    dist.TCPStore.__init__ = watched


class Guarded:
    """A function for a process that the script starts anew, where the doctor is not: it may not join a group."""

    def __init__(self, journal: Journal, function: Callable):
        self.folder, self.rank, self.pid, self.function = journal.folder, journal.rank, journal.pid, function

    def __call__(self, *args, **kwargs):
        journal = Journal(self.folder, self.rank)
        journal.pid = self.pid
        dist.init_process_group = lambda *_, **__: refuse(journal, SPAWNS)
        return self.function(*args, **kwargs)


def watch_processes(journal: Journal) -> None:
    """Have a script that starts its own ranks end; workers of other kinds are fine."""
    start = multiprocessing.process.BaseProcess.start

    @functools.wraps(start)
    def watched(self):
        method = getattr(self, "_start_method", None) or multiprocessing.get_start_method()
        if method != "fork" and is_readers(sys._getframe(1).f_code.co_filename) and getattr(self, "_target", None):
            self._target = Guarded(journal, self._target)
        start(self)

    multiprocessing.process.BaseProcess.start = watched
    for name in "spawn", "start_processes":
        setattr(torch.multiprocessing, name, refused(journal, getattr(torch.multiprocessing, name)))


def refused(journal: Journal, function: Callable) -> Callable:
    """Return a function that starts ranks, which the script may not call."""

    @functools.wraps(function)
    def watched(*args, **kwargs):
        if is_readers(sys._getframe(1).f_code.co_filename):
            refuse(journal, SPAWNS)
        return function(*args, **kwargs)

    return watched


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on."""
    port = os.environ.get("MASTER_PORT", "")
    said = [*sys.argv, *(value for name, value in os.environ.items() if name != "MASTER_PORT")]
    journal.note("launch", port=port, numbers=sorted(set(re.findall(r"\b\d{4,5}\b", " ".join(said)))))
    watch_joining(journal)
    watch_stores(journal)
    watch_processes(journal)
    for instrument in (words, options, printing):
        instrument.install(journal, limit)
