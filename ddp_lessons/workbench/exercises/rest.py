"""The exercise on an epoch that goes on with another number of ranks: what is left of it for each."""

from ddp_lessons.workbench.exercises.cases import by_cases
from ddp_lessons.workbench.exercises.sampler import block, padded


def rest_of_epoch(order: list[int], read: int, rank: int, world_size: int) -> list[int]:
    """Return what a rank still has to read: its sample of each turn in which all ranks get one."""
    turns = zip(*[iter(order[read:])] * world_size, strict=False)  # the last turn may be a part of one: left over
    return [turn[rank] for turn in turns]


def whole_turns(samples: list[int], world_size: int) -> list[int]:
    """Return samples without those that are left over from whole turns."""
    return samples[: len(samples) // world_size * world_size]


ORDER = [7, 2, 9, 0, 4, 8, 1, 5, 3, 6, 10]
CASES = [  # order, read, rank, world_size
    *[(ORDER[:10], 4, rank, 2) for rank in range(2)],
    *[(ORDER, 3, rank, 4) for rank in range(4)],
    *[(ORDER, 2, rank, 3) for rank in range(3)],
    *[(ORDER, 6, rank, 4) for rank in (0, 3)],
    *[(ORDER[:6], 5, rank, 2) for rank in range(2)],  # one is left, and two ranks want it
    (ORDER[:7], 0, 1, 2),
    (ORDER[:8], 8, 0, 2),
]
HINTS = {
    "`read` is what all ranks have read together, and each of them has read only its part": (
        lambda order, read, rank, n: whole_turns(order, n)[rank::n][read:]
    ),
    "`read` is what all ranks have read together: cut it off before you deal": (
        lambda order, read, rank, n: order[rank::n][read:]
    ),
    "dealt first and cut afterwards: that is right only where `read` divides by world_size": (
        lambda order, read, rank, n: whole_turns(order, n)[rank::n][read // n :]
    ),
    "dealt first and cut afterwards, that is right only where all divides by world_size": (
        lambda order, read, rank, n: order[rank::n][read // n :]
    ),
    "the ranks get different numbers of samples: who has more would wait for the others in its last step": (
        lambda order, read, rank, n: order[read:][rank::n]
    ),
    "the ranks get different numbers of samples: the rest has to divide, and not the whole order": (
        lambda order, read, rank, n: whole_turns(order, n)[read:][rank::n]
    ),
    "that begins the epoch again: what has been read must not come twice": (
        lambda order, read, rank, n: whole_turns(order, n)[rank::n]
    ),
    "that is the whole epoch: what has been read must not come twice": lambda order, read, rank, n: order[rank::n],
    "to make the shares equal, a sample is read twice: leave over what does not divide": (
        lambda order, read, rank, n: padded(order[read:], n)[rank::n] if order[read:] else []
    ),
    "those are blocks: dealt out in turns, the first sample is rank 0's, and the second is rank 1's": (
        lambda order, read, rank, n: block(order[read:], rank, n)
    ),
    "that is what has been read": lambda order, read, rank, n: whole_turns(order[:read], n)[rank::n],
    "each sample once: those at the end that do not divide are left over for all": (
        lambda order, read, rank, n: rest_of_epoch(order, read, rank, n) + order[len(order) - (len(order) - read) % n :]
    ),
}
EXERCISES = {"rest_of_epoch": by_cases("rest_of_epoch", rest_of_epoch, CASES, HINTS)}
