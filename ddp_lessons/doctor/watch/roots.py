"""What a loader reads from: the data set at the root of all its parts, told by content, and which of its samples.

`root` is the same on two ranks, or for two objects, that hold the same content; `contents` are the root's samples that
are in the loader's data set: [first, end, step], or a list of them, or None if unknown. `size` is how many they are.
"""

import zlib

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

MOST = 1_000_000  # samples of a part that are listed
DEEPEST = 8  # parts of parts
LOOKED_AT = 4096  # numbers of an array that its checksum is made of


def checksum(value: object) -> int | None:
    """Return a checksum of what a data set holds, or None for what holds no samples."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().reshape(-1)
        value = value[:: max(1, len(value) // LOOKED_AT)].contiguous().view(torch.uint8).numpy()
    elif isinstance(value, numpy.ndarray) and value.dtype != object:
        value = numpy.ascontiguousarray(value.reshape(-1)[:: max(1, value.size // LOOKED_AT)])
    elif isinstance(value, (list, tuple)) and value:
        arrays = [part for part in map(checksum, value[:8]) if part is not None] if len(value) <= 8 else []
        value = repr(arrays or [repr(one)[:200] for one in value[:: max(1, len(value) // 100)]]).encode()
    else:
        return None
    return zlib.crc32(value)


def root_of(dataset: object) -> str:
    """Return a name for a data set: its class, its length, and a checksum of what it holds."""
    try:
        held = vars(dataset)
    except TypeError:
        held = {"all": dataset if isinstance(dataset, list) else repr(dataset)[:200]}
    sums = {name: total for name, value in held.items() if (total := checksum(value)) is not None}
    plain = {name: value for name, value in held.items() if isinstance(value, (int, float, str))}
    content = zlib.crc32(repr(sorted((sums or plain).items())).encode())
    return f"{type(dataset).__name__} of {length(dataset)}: {content:x}"


def length(thing: object) -> int | None:
    """Return its length, or None if it has none."""
    try:
        return len(thing)
    except (TypeError, NotImplementedError):
        return None


def below(dataset: object) -> tuple[object, object] | None:
    """Return the data set that this one is a part or a dress of, and which samples of it; None if it is a root."""
    inner, indices = getattr(dataset, "dataset", None), getattr(dataset, "indices", None)
    if inner is not None and indices is not None and length(indices) == length(dataset):
        return inner, indices
    held = vars(dataset).values() if hasattr(dataset, "__dict__") else ()
    inside = [one for one in held if isinstance(one, Dataset) and not isinstance(one, IterableDataset)]
    same = len(inside) == 1 and length(inside[0]) == length(dataset) is not None
    return (inside[0], range(length(dataset))) if same else None


def layers(dataset: object) -> list:
    """Return a data set, and those below it."""
    found = [dataset]
    while len(found) < DEEPEST and (step := below(found[-1])) is not None:
        found.append(step[0])
    return found


def contents(dataset: object) -> tuple[str, int | None, list | None]:
    """Return a data set's root, how many samples it has, and which of the root's they are."""
    size = length(dataset)
    places: object = range(size or 0)
    for _ in range(DEEPEST):
        if (step := below(dataset)) is None:
            break
        dataset, indices = step
        if len(places) > MOST:
            return root_of(dataset), size, None
        places = indices[places.start : places.stop] if whole(places, indices) else [int(indices[at]) for at in places]
    if isinstance(places, range):
        return root_of(dataset), size, ["range", places.start, places.stop, places.step]
    return root_of(dataset), size, [int(place) for place in places] if len(places) <= MOST else None


def whole(places: object, indices: object) -> bool:
    """Tell whether all of a part is taken, as it is."""
    return isinstance(places, range) and places == range(len(indices))


def about_loader(loader: DataLoader, sampler: object) -> dict:
    """Return what is to be noted of a loader."""
    iterable = isinstance(loader.dataset, IterableDataset)
    root, size, parts = (None, None, None) if iterable else contents(loader.dataset)
    about = {"root": root, "size": size, "contents": parts, "batch": loader.batch_size, "iterable": iterable}
    return about | {"workers": loader.num_workers, "drop_last": bool(loader.drop_last), **order(sampler)}


def about_sampler(sampler: Sampler) -> dict:
    """Return what is to be noted of a sampler that is used without a loader."""
    root, size, parts = contents(sampler.dataset)
    return {"root": root, "size": size, "contents": parts, "batch": None, "iterable": False, **order(sampler)}


def order(sampler: object) -> dict:
    """Return what is to be noted of a sampler: its class, its length, and among how many it shares out.

    `again`: it may give a sample more than once. `even`: it leaves samples out rather than repeat some.
    """
    replicas = getattr(sampler, "num_replicas", None)
    shares = replicas if isinstance(replicas, int) else None
    about = {"sampler": type(sampler).__name__, "given": length(sampler), "replicas": shares}
    flags = {"again": "replacement", "even": "drop_last"}
    return about | {name: bool(getattr(sampler, flag, False)) for name, flag in flags.items()}
