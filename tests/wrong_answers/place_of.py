def swapped(rank, cards):
    """the machine comes first"""
    return rank % cards, rank // cards


def rank_as_local_rank(rank, cards):
    """the local rank starts again from 0"""
    return rank // cards, rank


def machines_from_1(rank, cards):
    """machines are counted from 0"""
    return rank // cards + 1, rank % cards


def fractions(rank, cards):
    """`/` gives fractions of a machine"""
    return rank / cards, rank % cards
