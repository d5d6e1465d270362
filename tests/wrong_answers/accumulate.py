from contextlib import nullcontext

import torch
from torch import nn


def loss_of(wrapped, inputs, labels, count):
    """helper"""
    return nn.functional.cross_entropy(wrapped(inputs), labels) / count


def no_no_sync(wrapped, micro_batches):
    """DDP speaks in each backward"""
    for inputs, labels in micro_batches:
        loss_of(wrapped, inputs, labels, len(micro_batches)).backward()


def around_backward_only(wrapped, micro_batches):
    """`no_sync` around `backward` is too late"""
    for number, (inputs, labels) in enumerate(micro_batches, start=1):
        loss = loss_of(wrapped, inputs, labels, len(micro_batches))
        with nullcontext() if number == len(micro_batches) else wrapped.no_sync():
            loss.backward()


def never_left(wrapped, micro_batches):
    """the ranks have not spoken: one pass must be made outside"""
    with wrapped.no_sync():
        for inputs, labels in micro_batches:
            loss_of(wrapped, inputs, labels, len(micro_batches)).backward()


def last_backward_outside(wrapped, micro_batches):
    """the ranks have not spoken: whether a backward does is decided in its forward"""
    with wrapped.no_sync():
        for number, (inputs, labels) in enumerate(micro_batches, start=1):
            loss = loss_of(wrapped, inputs, labels, len(micro_batches))
            if number < len(micro_batches):
                loss.backward()
    loss.backward()


def first_speaks(wrapped, micro_batches):
    """what is added after the ranks have spoken"""
    for number, (inputs, labels) in enumerate(micro_batches):
        with wrapped.no_sync() if number else nullcontext():
            loss_of(wrapped, inputs, labels, len(micro_batches)).backward()


def not_divided(wrapped, micro_batches):
    """each loss is a mean over its micro-batch"""
    for number, (inputs, labels) in enumerate(micro_batches, start=1):
        with nullcontext() if number == len(micro_batches) else wrapped.no_sync():
            loss_of(wrapped, inputs, labels, 1).backward()


def zeroed_inside(wrapped, micro_batches):
    """only the last micro-batch is in it"""
    for number, (inputs, labels) in enumerate(micro_batches, start=1):
        wrapped.zero_grad()
        with nullcontext() if number == len(micro_batches) else wrapped.no_sync():
            loss_of(wrapped, inputs, labels, len(micro_batches)).backward()


def step_inside(wrapped, micro_batches):
    """2 ranks: the optimizer's step comes later"""
    for number, (inputs, labels) in enumerate(micro_batches, start=1):
        with nullcontext() if number == len(micro_batches) else wrapped.no_sync():
            loss_of(wrapped, inputs, labels, len(micro_batches)).backward()
    for parameter in wrapped.parameters():
        parameter.data -= 0.1 * parameter.grad


def all_in_one(wrapped, micro_batches):
    """2 ranks: one pass over the whole batch"""
    loss_of(wrapped, *map(torch.cat, zip(*micro_batches, strict=True)), 1).backward()


def one_backward(wrapped, micro_batches):
    """2 ranks: what forward keeps for backward"""
    sum(loss_of(wrapped, *batch, len(micro_batches)) for batch in micro_batches).backward()


def one_pass_more(wrapped, micro_batches):
    """2 ranks: the pass that speaks can be that of the last micro-batch"""
    with wrapped.no_sync():
        for inputs, labels in micro_batches:
            loss_of(wrapped, inputs, labels, len(micro_batches)).backward()
    (wrapped(inputs) * 0).sum().backward()


def left_silent(wrapped, micro_batches):
    """2 ranks: `with wrapped.no_sync():` puts back what was before"""
    for number, (inputs, labels) in enumerate(micro_batches, start=1):
        wrapped.require_backward_grad_sync = number == len(micro_batches)
        loss_of(wrapped, inputs, labels, len(micro_batches)).backward()
    wrapped.require_backward_grad_sync = False
