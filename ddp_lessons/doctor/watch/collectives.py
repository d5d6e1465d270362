"""Notes every call in which a rank waits for others, when it begins and when it has ended.

Events:
`call`: `name`, `number` (of this rank's calls); `group` (its ranks), `pg` (its name) and `turn` (of the calls in it),
but for `wait`, whose `of` is the number of the call whose work it waits for, if that is known. `trail`: the reader's
lines that led to its place, `labels`: short texts in their variables; and what the name needs, from `about.py`.
`thread` is true outside of the main thread, `local` true where only those named in it wait.
`done`: the call of that `number` has come back; `error` if it failed.
DDP's own are noted by `training.py`: "DistributedDataParallel" (made), "buffers" (a forward that broadcasts them),
"backward" (which reduces gradients). A `Join` is one call, from its beginning to its end: in it, ranks may differ.
"""

import collections
import contextlib
import functools
import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Iterator

import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.modules import module

from ddp_lessons.doctor.journal import Journal
from ddp_lessons.doctor.watch import about

PAIRS = ["send", "recv", "isend", "irecv", "send_object_list", "recv_object_list"]
NAMES = [
    "all_reduce", "all_reduce_coalesced", "broadcast", "reduce", "all_gather", "all_gather_coalesced", "gather",
    "all_gather_into_tensor", "all_gather_single", "gather_single", "gather_into_tensor", "scatter", "reduce_scatter",
    "reduce_scatter_tensor", "reduce_scatter_single", "all_to_all", "all_to_all_single", "barrier",
    "monitored_barrier", "all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list",
    "new_group", "new_subgroups", "new_subgroups_by_enumeration", "split_group", "init_process_group", *PAIRS,
]  # fmt: skip

numbers = itertools.count()
turns = collections.Counter()  # the calls so far, for each group
works: dict[int, int] = {}  # the number of the call that returned a work, by the work's id
inside = threading.local()  # its `depth`: a call within a call is torch's own affair


@contextlib.contextmanager
def waiting(journal: Journal | None, name: str | None = None, group: object = None, **more: object) -> Iterator[None]:
    """Note a call in which this rank may wait for others, unless it has no name or is part of another.

    Gives its number, or None. `group` is the process group that waits; the default one, if it is None.
    """
    if not name or getattr(inside, "depth", 0):
        yield
        return
    call = begin(journal, name, group, **more)
    try:
        yield call
    except BaseException as error:
        end(journal, call, error=f"{type(error).__name__}: {error}"[:500])
        raise
    end(journal, call)


def begin(journal: Journal, name: str, group: object = None, **more: object) -> int:
    """Note that a call begins; return its number."""
    inside.depth = getattr(inside, "depth", 0) + 1
    call = next(numbers)
    if threading.current_thread() is not threading.main_thread():
        more["thread"] = True
    if name != "wait":
        more |= journal.safely(about.group)(group) or {}
    if name != "wait" and name not in PAIRS and "thread" not in more:
        key = more.get("pg"), *more.get("group", ())
        more["turn"] = turns[key]
        turns[key] += 1
    more |= journal.safely(about.frames)(more.pop("tensor", None)) or {}
    journal.note("call", name=name, number=call, **more)
    return call


def end(journal: Journal, call: int, **more: object) -> None:
    """Note that a call has come back."""
    inside.depth -= 1
    journal.note("done", number=call, **more)


def watched(journal: Journal, name: str, function: Callable) -> Callable:
    """Return the function, noted."""
    defaults = {key: one.default for key, one in inspect.signature(function).parameters.items()}
    look = journal.safely(about.call)

    @functools.wraps(function)
    def noted(*args, **kwargs):
        if getattr(inside, "depth", 0):
            return function(*args, **kwargs)
        given = defaults | dict(zip(defaults, args, strict=False)) | kwargs
        seen = look(name, given) or {}
        outside = given.get("group") is dist.GroupMember.NON_GROUP_MEMBER or seen.get("local")
        with waiting(journal, None if outside else name, **seen) as call:
            result = function(*args, **kwargs)
        if call is not None and isinstance(result, dist.Work):
            works[id(result)] = call
        return result

    noted._torchdynamo_disable = True  # a compiled function calls it as it is
    return noted


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on, also where a name has been imported before."""
    found = {id(function): name for name in NAMES if (function := getattr(dist, name, None))}
    wrapped = {number: watched(journal, name, getattr(dist, name)) for number, name in found.items()}
    for other in [one for name, one in list(sys.modules.items()) if one and name.startswith("torch")]:
        for name, value in list(vars(other).items()):
            if id(value) in wrapped:
                setattr(other, name, wrapped[id(value)])
    watch_works(journal)
    watch_joins(journal)
    with contextlib.suppress(AttributeError):
        module.register_module_parameter_registration_hook(journal.safely(about.registered))


def watch_works(journal: Journal) -> None:
    """Have the waits for calls noted that came back at once."""
    wait = dist.Work.wait

    @functools.wraps(wait)
    def watched_wait(self, *args, **kwargs):
        with waiting(journal, "wait", of=works.pop(id(self), None)):
            return wait(self, *args, **kwargs)

    dist.Work.wait = watched_wait


def watch_joins(journal: Journal) -> None:
    """Have each `Join` noted as one call."""
    enter, leave, open_calls = Join.__enter__, Join.__exit__, {}

    @functools.wraps(enter)
    def watched_enter(self):
        if self._enable and not getattr(inside, "depth", 0):
            open_calls[id(self)] = begin(journal, "Join", self._process_group)
        return enter(self)

    @functools.wraps(leave)
    def watched_leave(self, kind, error, trace):
        try:
            return leave(self, kind, error, trace)
        finally:
            if (call := open_calls.pop(id(self), None)) is not None:
                end(journal, call, **({"error": str(error)} if error else {}))

    Join.__enter__, Join.__exit__ = watched_enter, watched_leave
