import torch
import torch.distributed as dist
from torch import nn


def counted(labels):
    """helper"""
    count = torch.tensor(len(labels))
    dist.all_reduce(count)
    return count


def plain_mean(logits, labels):
    """that is the mean of the ranks' means"""
    return nn.functional.cross_entropy(logits, labels)


def plain_sum(logits, labels):
    """that is a sum over samples"""
    return nn.functional.cross_entropy(logits, labels, reduction="sum")


def without_the_world_size(logits, labels):
    """DDP divides the sum over ranks by their number"""
    return nn.functional.cross_entropy(logits, labels, reduction="sum") / counted(labels)


def weighted_twice(logits, labels):
    """all numbers are"""
    return plain_sum(logits, labels) * dist.get_world_size() ** 2 / counted(labels)


def loss_reduced(logits, labels):
    """a collective call changes the number that a loss is"""
    loss, count = plain_sum(logits, labels), counted(labels)
    dist.all_reduce(loss)
    return loss / count


def mean_reduced(logits, labels):
    """2 ranks: a collective call changes the number that a loss is"""
    loss = nn.functional.cross_entropy(logits, labels)
    dist.all_reduce(loss)
    return loss / dist.get_world_size()


def cut_off(logits, labels):
    """2 ranks: the loss must come from the logits"""
    loss = torch.tensor(plain_sum(logits, labels).item())
    dist.all_reduce(loss)
    return loss / counted(labels)


def in_float32(logits, labels):
    """2 ranks: that is exact to some digits"""
    return plain_sum(logits.float(), labels) * dist.get_world_size() / counted(labels)


def count_in_float32(logits, labels):
    """that is exact to some digits"""
    count = torch.tensor([float(len(labels))])
    dist.all_reduce(count)
    return plain_sum(logits, labels) * (dist.get_world_size() / count.squeeze())


def nothing_returned(logits, labels):
    """2 ranks: return the loss"""
    plain_sum(logits, labels) * dist.get_world_size() / counted(labels)


def not_waited_for(logits, labels):
    """2 ranks: with `async_op=True` the numbers are there once"""
    count = torch.tensor(len(labels))
    dist.all_reduce(count, async_op=True)
    return plain_sum(logits, labels) * dist.get_world_size() / count


def one_rank_counts(logits, labels):
    """stuck: 2 ranks: a collective call comes back when all ranks have made it"""
    count = counted(labels) if dist.get_rank() == 0 else len(labels)
    return plain_sum(logits, labels) * dist.get_world_size() / count
