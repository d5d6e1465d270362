from math import ceil


def last_batch_dropped(world_size, batch_size, lr, samples):
    """the last, smaller batch is a step too"""
    return world_size * batch_size, lr * world_size, samples // world_size // batch_size


def rate_not_scaled(world_size, batch_size, lr, samples):
    """gradients are averaged over ranks, so nothing has grown"""
    return world_size * batch_size, lr, ceil(samples / world_size / batch_size)


def batch_of_a_rank(world_size, batch_size, lr, samples):
    """all ranks take each step together"""
    return batch_size, lr * world_size, ceil(samples / world_size / batch_size)


def all_samples_on_each(world_size, batch_size, lr, samples):
    """a rank reads its own share only"""
    return world_size * batch_size, lr * world_size, ceil(samples / batch_size)
