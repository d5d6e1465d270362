def cut_after_dealing(order, read, rank, world_size):
    """`read` is what all ranks have read together: cut it off before you deal"""
    return order[rank::world_size][read:]


def cut_a_part_after_dealing(order, read, rank, world_size):
    """dealt first and cut afterwards: that is right only where `read` divides"""
    each = len(order) // world_size
    return order[rank::world_size][read // world_size : each]


def unequal(order, read, rank, world_size):
    """the ranks get different numbers of samples: who has more"""
    return order[read + rank :: world_size]


def whole_order_made_to_divide(order, read, rank, world_size):
    """2 ranks: the ranks get different numbers of samples: the rest has to divide"""
    whole = len(order) // world_size * world_size
    return order[read:whole][rank::world_size]


def from_the_start(order, read, rank, world_size):
    """2 ranks: that is the whole epoch"""
    return order[rank::world_size]


def padded(order, read, rank, world_size):
    """2 ranks: to make the shares equal, a sample is read twice"""
    rest = order[read:]
    rest += rest * world_size if len(rest) % world_size else []
    return rest[: -(-(len(order) - read) // world_size) * world_size][rank::world_size]


def blocks(order, read, rank, world_size):
    """2 ranks: those are blocks"""
    each = (len(order) - read) // world_size
    return order[read + rank * each : read + (rank + 1) * each]
