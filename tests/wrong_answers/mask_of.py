import torch
import torch.distributed as dist


def drawn(number, shape, p):
    """helper"""
    return torch.rand(shape, generator=torch.Generator().manual_seed(number)) >= p


def same_on_all_ranks(seed, step, shape, p):
    """all ranks drop the same"""
    return drawn(1000 * seed + step, shape, p)


def same_in_all_steps(seed, step, shape, p):
    """each step drops the same"""
    return drawn(1000 * seed + dist.get_rank(), shape, p)


def a_sum(seed, step, shape, p):
    """two numbers that are added"""
    return drawn(1000 * seed + step + dist.get_rank(), shape, p)


def seed_forgotten(seed, step, shape, p):
    """2 ranks: each run drops the same"""
    return drawn(step * dist.get_world_size() + dist.get_rank(), shape, p)


def global_generator(seed, step, shape, p):
    """2 ranks: shuffles and first weights hang on it"""
    torch.manual_seed(1000 * seed + step * dist.get_world_size() + dist.get_rank())
    return torch.rand(shape) >= p


def any_number(seed, step, shape, p):
    """2 ranks: a run can be repeated"""
    return drawn(torch.Generator().seed(), shape, p)


def hash_of_words(seed, step, shape, p):
    """2 ranks: `hash` of words, and what the system counts, differ"""
    return drawn(hash(f"{seed} {step} {dist.get_rank()}") % 2**32, shape, p)


def a_block_moved_on(seed, step, shape, p):
    """2 ranks: each number is to be drawn on its own"""
    numbers = torch.arange(shape[0] * shape[1]).reshape(shape)
    return (numbers >= p * numbers.numel()).roll(97 * seed + step * dist.get_world_size() + dist.get_rank())


def dropped_for_kept(seed, step, shape, p):
    """2 ranks: p is the part that is dropped"""
    return drawn(1000 * seed + step * dist.get_world_size() + dist.get_rank(), shape, 1 - p)


def scaled(seed, step, shape, p):
    """2 ranks: a mask says which numbers stay"""
    return drawn(1000 * seed + step * dist.get_world_size() + dist.get_rank(), shape, p) / (1 - p)


def steps_too_close(seed, step, shape, p):
    """two seeds meet"""
    return drawn(seed * 10 + step * 7 + dist.get_rank(), shape, p)


def a_hundred_ranks_at_most(seed, step, shape, p):
    """two seeds meet"""
    return drawn(1_000_000 * seed + 100 * step + dist.get_rank(), shape, p)


def a_thousand_steps_at_most(seed, step, shape, p):
    """2 ranks: two seeds meet"""
    return drawn(1_000_000 * seed + 1000 * dist.get_rank() + step, shape, p)


def ranks_of_one_machine(seed, step, shape, p):
    """2 ranks: two seeds meet"""
    return drawn(1_000_000 * seed + 8 * step + dist.get_rank(), shape, p)
