import torch
import torch.distributed as dist


def everyones(number, how=dist.ReduceOp.MAX):
    """helper"""
    numbers = torch.tensor(int(number))
    dist.all_reduce(numbers, op=how)
    return numbers.item()


def rank_0_decides(asked, step, most):
    """only rank 0's wish is heard"""
    for done in range(1, most + 1):
        step()
        stop = torch.tensor(int(asked()))
        dist.broadcast(stop, src=0)
        if stop:
            return done
    return most


def last_rank_decides(asked, step, most):
    """2 ranks: some rank's wish is not heard"""
    for done in range(1, most + 1):
        step()
        stop = torch.tensor(int(asked()))
        dist.broadcast(stop, src=dist.get_world_size() - 1)
        if stop:
            return done
    return most


def all_must_wish_it(asked, step, most):
    """all ranks must wish it"""
    for done in range(1, most + 1):
        step()
        if everyones(asked(), dist.ReduceOp.MIN):
            return done
    return most


def exactly_one(asked, step, most):
    """more than one can be asked at the same time"""
    for done in range(1, most + 1):
        step()
        if everyones(asked(), dist.ReduceOp.SUM) == 1:
            return done
    return most


def one_step_more(asked, step, most):
    """2 ranks: all ranks left, and too late"""
    for done in range(most):
        stop = everyones(asked())
        step()
        if stop:
            return done + 1
    return most


def now_and_then(asked, step, most):
    """2 ranks: all ranks left, and too late"""
    for done in range(1, most + 1):
        step()
        if done % 2 == 0 and everyones(asked()):
            return done
    return most


def at_the_end(asked, step, most):
    """2 ranks: the steps went on to the end"""
    first = most
    for done in range(1, most + 1):
        step()
        first = min(first, done) if asked() else first
    return everyones(first, dist.ReduceOp.MIN)


def miscounted(asked, step, most):
    """2 ranks: all ranks left in time"""
    for done in range(most):
        step()
        if everyones(asked()):
            return done
    return most


def for_ever(asked, step, most):
    """2 ranks: if nobody is asked to stop"""
    done = 0
    while not everyones(asked()):
        step()
        done += 1
    return done


def first_wish_ends_it(asked, step, most):
    """2 ranks: all ranks left, and too early"""
    for done in range(1, most + 1):
        step()
        if everyones(not asked()):
            return done
    return most


def each_for_itself(asked, step, most):
    """stuck: 2 ranks: some ranks leave, and others wait for them"""
    for done in range(1, most + 1):
        step()
        if asked():
            return done
    return most
