"""Notes which samples each loader hands out: their indices, and short keys of what is in them.

Events:
`loader`: a DataLoader is made, or a DistributedSampler is asked for the first time without one. `loader` is its number,
`made` the line where its sampler was made (its own, where it has none of the reader's), `part` where its part of the
data was; the rest is in `roots.py`.
`pass`: someone begins to go through it. `run` is the pass's number in this rank, `length` how many batches it promises.
`batch`: a batch is handed out. `indices` are the loader's; `keys` has for each tensor a key a row, the largest first.
`passed`: the pass has come to its end.
A sampler without a loader has one batch a pass: all that it is going to hand out.
"""

import functools
import inspect
import operator

import torch
from torch.utils.data import DataLoader, DistributedSampler, Sampler, Subset
from torch.utils.data import dataloader as private

from ddp_lessons.doctor.journal import Journal, here
from ddp_lessons.doctor.watch.places import Places
from ddp_lessons.doctor.watch.roots import about_loader, about_sampler, layers
from ddp_lessons.doctor.watch.rows import keys_of, leaves

MOST_INDICES, MOST_KEYED = 1_000_000, 200  # noted in a rank; batches of a pass whose rows get keys


class Reading:
    """What is read in this rank, numbered."""

    def __init__(self, journal: Journal):
        self.journal, self.made, self.numbers = journal, Places(), Places()
        self.loaders = self.passes = self.noted = 0
        self.run: int | None = None  # the pass that was last touched
        self.fresh = False  # a batch has been handed out, and no model was called since
        self.handed: list[int] = []  # the rows of that batch, in each of its tensors
        self.inside = 0  # a loader is asking its sampler

    def created(self, thing: object) -> None:
        """Remember the line where a sampler, or a part of a data set, is made."""
        self.made[thing] = here()

    def loader(self, loader: DataLoader) -> None:
        """Note a loader that has just been made."""
        sampler = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
        inner = getattr(sampler, "sampler", sampler)
        made = self.made.get(inner) or self.made.get(sampler) or here()
        part = next((place for one in layers(loader.dataset) if (place := self.made.get(one))), None)
        self.register(loader, made=made, part=part, **about_loader(loader, inner))

    def register(self, thing: object, **about: object) -> None:
        """Give a loader, or a sampler that is used without one, its number."""
        self.numbers[thing] = self.loaders
        self.journal.note("loader", loader=self.loaders, **about)
        self.loaders += 1

    def begin(self, iterator, loader: DataLoader) -> None:
        """Note that a pass begins."""
        try:
            length = len(iterator._index_sampler) if iterator._dataset_kind == 0 else None
        except TypeError:
            length = None
        iterator._doctor = [self.passes, [], 0]  # the pass, what its sampler has given, batches handed out
        self.run = self.passes
        self.journal.note("pass", run=self.passes, loader=self.numbers.get(loader), length=length)
        self.passes += 1

    def drawn(self, iterator, index: object) -> None:
        """Remember what the sampler has given, until its batch is handed out."""
        iterator._doctor[1].append(index)

    def batch(self, iterator, data: object) -> None:
        """Note a batch that is handed out."""
        run, drawn, count = iterator._doctor
        indices = numbers(drawn.pop(0)) if drawn else None
        keys = keys_of(leaves(data)) if count < MOST_KEYED else None
        iterator._doctor[2] += 1
        self.run, self.fresh = run, keys != []
        self.handed = [len(leaf) for leaf in leaves(data)]
        self.note(run, indices, keys=keys)

    def note(self, run: int, indices: list[int] | None, **more: object) -> None:
        """Note a batch; without its indices, if there are too many of them by now."""
        self.noted += len(indices or ())
        kept = indices if self.noted <= MOST_INDICES else None
        self.journal.note("batch", run=run, indices=kept, grad=torch.is_grad_enabled(), **more)

    def end(self, iterator) -> None:
        """Note that a pass has come to its end."""
        self.journal.note("passed", run=iterator._doctor[0])

    def alone(self, sampler: DistributedSampler, indices: list) -> None:
        """Note what a sampler hands out that no loader asks."""
        if self.numbers.get(sampler) is None:
            self.register(sampler, made=self.made.get(sampler) or here(), **about_sampler(sampler))
        self.journal.note("pass", run=self.passes, loader=self.numbers.get(sampler), length=1)
        self.note(self.passes, numbers(indices), keys=None)
        self.passes += 1


def numbers(index: object) -> list[int] | None:
    """Return a batch's indices as numbers; None if they are none."""
    try:
        return [operator.index(one) for one in (index if hasattr(index, "__iter__") else [index])]
    except TypeError:
        return None


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on."""
    global reading
    reading = Reading(journal)
    init, record = DataLoader.__init__, journal.safely(reading.loader)

    @functools.wraps(init)
    def watched_init(self, *args, **kwargs):
        init(self, *args, **kwargs)
        record(self)

    DataLoader.__init__ = watched_init
    journal.safely(watch_samplers)(journal)
    journal.safely(watch_iterators)(journal, private._BaseDataLoaderIter)


def watch_samplers(journal: Journal) -> None:
    """Remember where samplers and parts are made, and have it noted when a DistributedSampler is asked by no loader."""
    record, alone = journal.safely(reading.created), journal.safely(reading.alone)
    order, part = DistributedSampler.__iter__, Subset.__init__

    @functools.wraps(Sampler.__new__)
    def watched_new(cls, *args, **kwargs):
        further = super(Sampler, cls).__new__
        sampler = further(cls) if further is object.__new__ else further(cls, *args, **kwargs)
        record(sampler)
        return sampler

    watched_new.__signature__ = inspect.Signature([inspect.Parameter("cls", inspect.Parameter.POSITIONAL_ONLY)])

    @functools.wraps(order)
    def watched_order(self):
        if reading.inside:
            return order(self)
        alone(self, indices := list(order(self)))
        return iter(indices)

    @functools.wraps(part)
    def watched_part(self, *args, **kwargs):
        part(self, *args, **kwargs)
        record(self)

    Sampler.__new__, DistributedSampler.__iter__, Subset.__init__ = watched_new, watched_order, watched_part


def watch_iterators(journal: Journal, cls: type) -> None:
    """Have each pass through a DataLoader noted: its beginning, its batches, its end."""
    init, reset, draw, step = cls.__init__, cls._reset, cls._next_index, cls.__next__
    begin, drawn, batch, end = map(journal.safely, (reading.begin, reading.drawn, reading.batch, reading.end))

    @functools.wraps(init)
    def watched_init(self, loader, *args, **kwargs):
        asked(init, self, loader, *args, **kwargs)
        begin(self, loader)

    @functools.wraps(reset)
    def watched_reset(self, loader, first_iter=False):
        asked(reset, self, loader, first_iter)
        if not first_iter:
            begin(self, loader)

    @functools.wraps(draw)
    def watched_draw(self):
        index = asked(draw, self)
        drawn(self, index)
        return index

    @functools.wraps(step)
    def watched_step(self):
        try:
            data = step(self)
        except StopIteration:
            end(self)
            raise
        batch(self, data)
        return data

    cls.__init__, cls._reset, cls._next_index, cls.__next__ = watched_init, watched_reset, watched_draw, watched_step


def asked(function, *args, **kwargs):
    """Call what may ask a sampler for its order, on behalf of a loader."""
    reading.inside += 1
    try:
        return function(*args, **kwargs)
    finally:
        reading.inside -= 1
