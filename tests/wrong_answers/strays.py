import torch
import torch.distributed as dist


def everyones(thing):
    """helper"""
    things = [None] * dist.get_world_size()
    dist.all_gather_object(things, thing)
    return things


def stray(name, value):
    """helper"""
    return len(set(everyones(value))) > 1


def rank_0_alone(model):
    """what some ranks know all must return"""
    found = []
    for name, parameter in model.named_parameters():
        all_values = everyones(parameter.tolist())
        if dist.get_rank() == 0 and any(values != all_values[0] for values in all_values):
            found.append(name)
    return found


def not_told_to_others(model):
    """what some ranks know all must return"""
    found = []
    for name, parameter in model.named_parameters():
        of_rank_0 = parameter.detach().clone()
        dist.broadcast(of_rank_0, src=0)
        if not torch.equal(of_rank_0, parameter):
            found.append(name)
    return found


def sums(model):
    """a sum, a mean or a tolerance rounds the difference away"""
    return [name for name, p in model.named_parameters() if stray(name, p.double().sum().item())]


def sums_of_bits(model):
    """a sum does not know in which order the numbers stand"""
    return [name for name, p in model.named_parameters() if stray(name, p.detach().view(torch.int32).sum().item())]


def hashes(model):
    """nothing differs: is what you compare the same in every process?"""
    return [name for name, p in model.named_parameters() if stray(name, hash(str(p.tolist())))]


def averages(model):
    """3 ranks: nothing differs: is what you compare the same in every process?"""
    found = []
    for name, parameter in model.named_parameters():
        average = parameter.detach().clone()
        dist.all_reduce(average, op=dist.ReduceOp.AVG)
        if any(everyones(not torch.equal(average, parameter))):
            found.append(name)
    return found


def first_and_last_only(model):
    """4 ranks: any rank can be the one that strays"""
    found = []
    for name, parameter in model.named_parameters():
        first, *_, last = everyones(parameter.tolist())
        if first != last:
            found.append(name)
    return found


def frozen_left_out(model):
    """2 ranks: a frozen weight learns nothing"""
    return [name for name, p in model.named_parameters() if p.requires_grad and stray(name, str(p.tolist()))]


def first_one_only(model):
    """2 ranks: more than one can stray"""
    return [name for name, p in model.named_parameters() if stray(name, str(p.tolist()))][:1]


def yes_or_no(model):
    """2 ranks: a list of names is asked for"""
    return [name for name, p in model.named_parameters() if stray(name, str(p.tolist()))] != []


def mended(model):
    """2 ranks: broadcast, all_reduce and their like write into the tensor"""
    found = []
    for name, parameter in model.named_parameters():
        differs = stray(name, str(parameter.tolist()))
        dist.broadcast(parameter.data, src=0)
        found += [name] * differs
    return found


def early_return(model):
    """stuck: 2 ranks: a collective call comes back when all ranks have made it"""
    for name, parameter in model.named_parameters():
        smallest = parameter.detach().clone()
        dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
        if not torch.equal(smallest, parameter):
            return [name]
    return []
