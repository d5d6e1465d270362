"""Notes where the random number generators stand when training draws from them.

Events:
`seeded`: a generator is put to a state by the script. `generator`: "torch", "numpy" or "Python".
`drew`: random numbers were drawn. `where`: "fetch" (a sample was loaded), "loop" (between a batch's coming and the
model's call, or the backward, of a model that is not wrapped), "forward" (in a wrapper's call, in training).
`key` says which of them it was, the same on each rank; `drawn`: for each generator a digest of its state before, and
how many numbers were drawn.
"""

import functools
import os
import random
import sys
import zlib

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import _utils, get_worker_info
from torch.utils.data import dataloader as private

from ddp_lessons.doctor.journal import Journal, here
from ddp_lessons.doctor.watch import data

EACH, THEN_EVERY = 8, 50  # of draws that are looked at
STATE = 624  # numbers in a state of the Mersenne Twister, which all three are
MOST_SEEDED = 200


def due(count: int) -> bool:
    """Tell whether the draw of this number is looked at: the first few, then now and then, the same on all ranks."""
    return count < EACH or count % THEN_EVERY == 0


def stands() -> dict[str, tuple[int, int]]:
    """Return for each generator a digest of its 624 numbers, and how many of them are used up."""
    state = torch.get_rng_state().numpy()
    left = int(state[8:12].view("int32")[0])  # of the seed (8 bytes), the numbers left (4), …
    python = random.getstate()[1]
    found = {
        "torch": (zlib.crc32(state[24 : 24 + 8 * STATE]), STATE - left),
        "Python": (hash(python[:-1]), python[-1]),
    }
    if "numpy" in sys.modules:
        _, keys, used, *_ = sys.modules["numpy"].random.get_state()
        found["numpy"] = (zlib.crc32(keys), used)
    return found


def drawn(before: dict, after: dict) -> dict[str, list]:
    """Return for each generator that was drawn from: a digest of its state before, and how many numbers it gave."""
    return {
        name: [f"{before[name][0]:x}.{before[name][1]}", used - before[name][1] if same(before, after, name) else STATE]
        for name, (_, used) in after.items()
        if name in before and before[name] != after[name]
    }


def same(before: dict, after: dict, name: str) -> bool:
    """Tell whether a generator still has the same 624 numbers: then its place says how many were drawn."""
    return before[name][0] == after[name][0]


class Streams:
    """The draws in this rank: at each look, where the generators stood."""

    def __init__(self, journal: Journal):
        self.journal, self.at_batch, self.batch, self.fetches = journal, None, 0, {}
        self.calls, self.at_call = 0, None
        self.seeds: set = set()

    def note(self, where: str, key: list, before: dict | None) -> None:
        """Note a draw that has ended, if there was one."""
        if before and (numbers := drawn(before, stands())):
            self.journal.note("drew", where=where, key=key, drawn=numbers)

    def fetching(self) -> tuple[list, dict | None]:
        """Return which fetch begins, and where the generators stand."""
        worker, run = get_worker_info(), data.reading.run
        who = [run, worker.id if worker else None]
        count = self.fetches[str(who)] = self.fetches.get(str(who), -1) + 1
        return [*who, count], stands() if due(count) else None

    def batch_came(self, iterator) -> None:
        """Remember where the generators stand as a batch is handed out."""
        self.batch = iterator._doctor[2]
        self.at_batch = stands() if due(self.batch) else None

    def used(self) -> None:
        """Note what was drawn since a batch came, at the first call of a model, or backward."""
        if torch.is_grad_enabled():
            before, self.at_batch = self.at_batch, None
            self.note("loop", [data.reading.run, None, self.batch], before)

    def calling(self, wrapper: DistributedDataParallel) -> None:
        """Remember where the generators stand as a wrapper is called."""
        self.used()
        self.at_call = None
        if wrapper.training and torch.is_grad_enabled():
            self.at_call = stands() if due(self.calls) else None
            self.calls += 1

    def called(self) -> None:
        """Note what was drawn in a wrapper's call."""
        self.note("forward", [None, None, self.calls - 1], self.at_call)

    def seeded(self, generator: str) -> None:
        """Note that the script has put a generator to a state, once for each line that does."""
        key = generator, str(place := here())
        if os.getpid() == self.journal.pid and key not in self.seeds and len(self.seeds) < MOST_SEEDED and place:
            self.seeds.add(key)
            self.journal.note("seeded", generator=generator)


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on."""
    streams = Streams(journal)
    watch_seeds(journal, streams)
    journal.safely(watch_fetches)(journal, streams)
    calling, called, used = map(journal.safely, (streams.calling, streams.called, streams.used))
    forward, backward = DistributedDataParallel.forward, torch.autograd.backward

    @functools.wraps(forward)
    def watched_forward(self, *args, **kwargs):
        calling(self)
        result = forward(self, *args, **kwargs)
        called()
        return result

    @functools.wraps(backward)
    def watched_backward(*args, **kwargs):
        used()
        return backward(*args, **kwargs)

    DistributedDataParallel.forward, torch.autograd.backward = watched_forward, watched_backward


def watch_seeds(journal: Journal, streams: Streams) -> None:
    """Have it noted where the script seeds."""
    homes = [(torch.random, "torch"), (torch, "torch"), (random, "Python")]
    homes += [(sys.modules["numpy"].random, "numpy")] if "numpy" in sys.modules else []
    note = journal.safely(streams.seeded)
    for home, generator in homes:
        for name in ("manual_seed", "set_rng_state", "seed", "setstate", "set_state"):
            if function := vars(home).get(name):
                setattr(home, name, noting(function, note, generator))


@functools.cache
def noting(function, note, generator: str):
    """Return a function that seeds, noted; the same one under each of its names."""

    @functools.wraps(function)
    def noted(*args, **kwargs):
        note(generator)
        return function(*args, **kwargs)

    return noted


def watch_fetches(journal: Journal, streams: Streams) -> None:
    """Have the draws noted that samples are loaded with, also in a loader's forked workers."""
    fetcher, iterator = _utils.fetch._MapDatasetFetcher, private._BaseDataLoaderIter
    fetch, step = fetcher.fetch, iterator.__next__
    fetching, note, came = map(journal.safely, (streams.fetching, streams.note, streams.batch_came))

    @functools.wraps(fetch)
    def watched_fetch(self, index):
        key, before = fetching() or (None, None)
        result = fetch(self, index)
        note("fetch", key, before)
        return result

    @functools.wraps(step)
    def watched_step(self):
        result = step(self)
        came(self)
        return result

    fetcher.fetch, iterator.__next__ = watched_fetch, watched_step
