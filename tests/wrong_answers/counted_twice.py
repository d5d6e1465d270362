def those_left_over(samples, world_size):
    """so many are left over from whole rounds"""
    return list(range(samples % world_size))


def one_round_too_many(samples, world_size):
    """if all divides evenly, nothing is missing"""
    return list(range(world_size - samples % world_size))


def the_last_ones(samples, world_size):
    """the sampler begins again from the front"""
    return list(range(samples))[samples - -samples % world_size :]


def how_many(samples, world_size):
    """that is how many"""
    return -samples % world_size
