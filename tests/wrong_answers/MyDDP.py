import copy

import torch
import torch.distributed as dist
from torch import nn


class NothingBroadcast(nn.Module):
    """each rank still has what it began with"""

    def __init__(self, model):
        super().__init__()
        self.module = model
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(self.average)

    def average(self, parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()

    def forward(self, inputs):
        return self.module(inputs)


class BuffersForgotten(NothingBroadcast):
    """a buffer is no parameter"""

    def __init__(self, model):
        super().__init__(model)
        for parameter in model.parameters():
            dist.broadcast(parameter.data, src=0)


class FrozenForgotten(NothingBroadcast):
    """a frozen weight learns nothing, but it takes part"""

    def __init__(self, model):
        super().__init__(model)
        for tensor in [*filter(lambda p: p.requires_grad, model.parameters()), *model.buffers()]:
            dist.broadcast(tensor.data, src=0)


class StartAveraged(NothingBroadcast):
    """rank 0's own have changed"""

    def __init__(self, model):
        super().__init__(model)
        for tensor in model.parameters():
            dist.all_reduce(tensor.data)
            tensor.data /= dist.get_world_size()


class Started(NothingBroadcast):
    """helper"""

    def __init__(self, model):
        super().__init__(model)
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, src=0)


class Summed(Started):
    """that is the sum over ranks"""

    def average(self, parameter):
        dist.all_reduce(parameter.grad)


class DividedTwice(Started):
    """that is divided by the world size once too often"""

    def average(self, parameter):
        parameter.grad /= dist.get_world_size()
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


class NeverAveraged(Started):
    """after backward each rank still has the gradient of its own samples"""

    def average(self, parameter):
        pass


class NothingReturned(Started):
    """forward returns what the model returns"""

    def forward(self, inputs):
        self.module(inputs)


class HookOnFrozen(Started):
    """a frozen weight gets no gradient"""

    def __init__(self, model):
        super().__init__(model)
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(self.average)


class CopiedWithAutograd(NothingBroadcast):
    """change weights where autograd does not look"""

    def __init__(self, model):
        super().__init__(model)
        for parameter in model.parameters():
            received = parameter.detach().clone()
            dist.broadcast(received, src=0)
            parameter.copy_(received)


class ACopyWrapped(Started):
    """each rank still has what it began with"""

    def __init__(self, model):
        super().__init__(copy.deepcopy(model))


class OnlyOnRank0(NothingBroadcast):
    """stuck: 2 ranks: a collective call comes back when all ranks have made it"""

    def average(self, parameter):
        if dist.get_rank() == 0:
            dist.all_reduce(parameter.grad)


class TiedOnce(Started):
    """only the tied weight is wrong"""

    def __init__(self, model):
        super().__init__(model)
        model.first.weight.register_post_accumulate_grad_hook(self.halve)

    def halve(self, parameter):
        parameter.grad /= torch.tensor(2.0)


class FloatsOnly(NothingBroadcast):
    """a buffer may hold whole numbers"""

    def __init__(self, model):
        super().__init__(model)
        for tensor in model.state_dict().values():
            if tensor.is_floating_point():
                dist.broadcast(tensor, src=0)


class HooksInForward(Started):
    """each step sends more than the one before"""

    def forward(self, inputs):
        for parameter in self.module.parameters():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(self.average)
        return self.module(inputs)


class TiedTwice(Started):
    """is a gradient averaged twice"""

    def __init__(self, model):
        super().__init__(model)
        model.second.weight.register_post_accumulate_grad_hook(self.average)


class Torchs(nn.parallel.DistributedDataParallel):
    """write your own here"""


class TorchsInside(nn.Module):
    """write your own here"""

    def __init__(self, model):
        super().__init__()
        self.module = nn.parallel.DistributedDataParallel(model)

    def forward(self, inputs):
        return self.module(inputs)
