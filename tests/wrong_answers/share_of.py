from math import ceil


def padded(rank, world_size, samples):
    """that is the sampler's padded share"""
    length = ceil(samples / world_size) * world_size
    return [number % samples for number in range(rank, length, world_size)]


def dropped(rank, world_size, samples):
    """that drops the samples that do not divide evenly"""
    return list(range(rank, samples // world_size * world_size, world_size))


def from_0_on_each(rank, world_size, samples):
    """all ranks would begin with sample 0"""
    return list(range(0, samples, world_size))


def blocks(rank, world_size, samples):
    """those are blocks"""
    return list(range(samples * rank // world_size, samples * (rank + 1) // world_size))


def larger_blocks(rank, world_size, samples):
    """those are blocks, of a size rounded up"""
    size = ceil(samples / world_size)
    return list(range(rank * size, min((rank + 1) * size, samples)))
