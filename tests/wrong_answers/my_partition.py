import torch


def order_of(samples, world_size, seed):
    """helper"""
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed)).tolist()
    length = -(-samples // world_size) * world_size
    return (order * world_size)[:length]


def not_shuffled(samples, rank, world_size, seed, epoch):
    """that is in order"""
    length = -(-samples // world_size) * world_size
    return [number % samples for number in range(length)][rank::world_size]


def without_the_epoch(samples, rank, world_size, seed, epoch):
    """that is the same in each epoch"""
    return order_of(samples, world_size, seed)[rank::world_size]


def a_shuffle_for_each_rank(samples, rank, world_size, seed, epoch):
    """each rank shuffles in a way of its own"""
    return order_of(samples, world_size, seed + epoch + rank)[rank::world_size]


def blocks(samples, rank, world_size, seed, epoch):
    """those are blocks"""
    order = order_of(samples, world_size, seed + epoch)
    size = len(order) // world_size
    return order[rank * size : (rank + 1) * size]


def dropped(samples, rank, world_size, seed, epoch):
    """that drops what does not divide evenly"""
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    return order[: samples // world_size * world_size][rank::world_size]


def not_padded(samples, rank, world_size, seed, epoch):
    """the shares differ in length"""
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    return order[rank::world_size]


def a_round_too_many(samples, rank, world_size, seed, epoch):
    """that adds a round where all divides evenly"""
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    total = (samples // world_size + 1) * world_size
    return (order + order[: total - samples])[rank:total:world_size]


def padded_once(samples, rank, world_size, seed, epoch):
    """with fewer samples than missing places"""
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    order += order[: -samples % world_size]
    return order[rank::world_size]


def padded_from_the_end(samples, rank, world_size, seed, epoch):
    """what is missing is taken from the end"""
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    missing = -samples % world_size
    return (order + order[len(order) - missing :])[rank::world_size]


def padded_with_0(samples, rank, world_size, seed, epoch):
    """what is missing is not sample 0"""
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    return (order + [0] * (-samples % world_size))[rank::world_size]
