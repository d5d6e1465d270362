import torch
import torch.distributed as dist


def by_the_real_one(tensor, source):
    """here only messages between two ranks are allowed"""
    dist.broadcast(tensor, source)


def always_from_0(tensor, source):
    """these are rank 0's numbers"""
    if dist.get_rank() == 0:
        for other in range(1, dist.get_world_size()):
            dist.send(tensor, other)
    else:
        dist.recv(tensor, 0)


def into_a_new_tensor(tensor, source):
    """messages came, and the caller's tensor is as it was"""
    if dist.get_rank() == source:
        for other in range(dist.get_world_size()):
            if other != source:
                dist.send(tensor, other)
    else:
        received = torch.empty_like(tensor)
        dist.recv(received, source)
        tensor = received


def nothing_sent(tensor, source):
    """nothing was sent"""
    if dist.get_rank() == source:
        tensor.copy_(tensor)


def to_the_source(tensor, source):
    """the source has lost its own numbers"""
    if dist.get_rank() == source:
        for other in range(dist.get_world_size()):
            if other != source:
                dist.recv(tensor, other)
    else:
        dist.send(tensor, source)


def to_itself_too(tensor, source):
    """stuck: 2 ranks: a rank cannot send to itself"""
    if dist.get_rank() == source:
        for other in range(dist.get_world_size()):
            dist.send(tensor, other)
    else:
        dist.recv(tensor, source)


def to_the_next_only(tensor, source):
    """4 ranks: some ranks were left out"""
    rank, after = dist.get_rank(), (source + 1) % dist.get_world_size()
    if rank == source:
        dist.send(tensor, after)
    elif rank == after:
        dist.recv(tensor, source)


def everyone_receives(tensor, source):
    """stuck: 2 ranks: a recv waits until the rank that it names sends to this one"""
    dist.recv(tensor, 1 - dist.get_rank())


def after_a_barrier(tensor, source):
    """here only messages between two ranks are allowed"""
    dist.barrier()
    if dist.get_rank() == source:
        for other in range(dist.get_world_size()):
            if other != source:
                dist.send(tensor, other)
    else:
        dist.recv(tensor, source)


def nobody_receives(tensor, source):
    """stuck: the other ranks have returned, and what is sent here was not received"""
    if dist.get_rank() == source:
        for other in range(dist.get_world_size()):
            if other != source:
                dist.send(tensor, other)


def nobody_receives_what_is_under_way(tensor, source):
    """nothing was received"""
    if dist.get_rank() == source:
        for other in range(dist.get_world_size()):
            if other != source:
                dist.isend(tensor, other)


def irecv_not_waited_for(tensor, source):
    """stuck: 2 ranks: a message is still under way"""
    if dist.get_rank() == source:
        for other in range(dist.get_world_size()):
            if other != source:
                dist.send(tensor, other)
    else:
        dist.irecv(tensor, source)


def generator(tensor, source):
    """a function with `yield` runs only when somebody loops over it"""
    yield dist.recv(tensor, source)


def into_float32(tensor, source):
    """stuck: a message was larger than the tensor it was received into"""
    if dist.get_rank() == source:
        for other in range(dist.get_world_size()):
            if other != source:
                dist.send(tensor, other)
    else:
        received = torch.zeros(tensor.shape)
        dist.recv(received, source)
        tensor.copy_(received)
