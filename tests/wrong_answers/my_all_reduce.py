import torch
import torch.distributed as dist


def by_the_real_one(tensor):
    """here only messages between two ranks are allowed"""
    dist.all_reduce(tensor)


def average(tensor):
    """that is the average"""
    mine, received = tensor.clone(), torch.empty_like(tensor)
    others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    handles = [dist.isend(mine, other) for other in others]
    for other in others:
        dist.recv(received, other)
        tensor += received
    tensor /= dist.get_world_size()
    for handle in handles:
        handle.wait()


def on_rank_0_alone(tensor):
    """rank 0 alone has the sum"""
    if dist.get_rank() == 0:
        received = torch.empty_like(tensor)
        for other in range(1, dist.get_world_size()):
            dist.recv(received, other)
            tensor += received
    else:
        dist.send(tensor, 0)


def without_ones_own(tensor):
    """the rank's own numbers are missing"""
    mine, received = tensor.clone(), torch.empty_like(tensor)
    others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    handles = [dist.isend(mine, other) for other in others]
    tensor.zero_()
    for other in others:
        dist.recv(received, other)
        tensor += received
    for handle in handles:
        handle.wait()


def replaced(tensor):
    """the rank's own numbers are missing"""
    mine = tensor.clone()
    others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    handles = [dist.isend(mine, other) for other in others]
    for other in others:
        dist.recv(tensor, other)
    for handle in handles:
        handle.wait()


def into_a_new_tensor(tensor):
    """messages came, and the caller's tensor is as it was"""
    received = torch.empty_like(tensor)
    others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    handles = [dist.isend(tensor, other) for other in others]
    total = tensor.clone()
    for other in others:
        dist.recv(received, other)
        total += received
    for handle in handles:
        handle.wait()
    return total


def running_sum_sent_round(tensor):
    """4 ranks: something was counted more than once"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    received = torch.empty_like(tensor)
    for _ in range(world_size - 1):
        handle = dist.isend(tensor.clone(), (rank + 1) % world_size)
        dist.recv(received, (rank - 1) % world_size)
        tensor += received
        handle.wait()


def everyone_sends_first(tensor):
    """stuck: on gloo a send waits until the other rank receives"""
    mine, received = tensor.clone(), torch.empty_like(tensor)
    others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    for other in others:
        dist.send(mine, other)
    for other in others:
        dist.recv(received, other)
        tensor += received


def handle_dropped(tensor):
    """stuck: 2 ranks: a recv waits until the rank that it names sends to this one"""
    received, other = torch.empty_like(tensor), 1 - dist.get_rank()
    dist.isend(tensor.clone(), other)
    dist.recv(received, other)
    tensor += received


def sum_added_once_more(tensor):
    """something was counted more than once"""
    received = torch.empty_like(tensor)
    others = range(1, dist.get_world_size())
    if dist.get_rank() == 0:
        for other in others:
            dist.recv(received, other)
            tensor += received
        for other in others:
            dist.send(tensor, other)
    else:
        dist.send(tensor, 0)
        dist.recv(received, 0)
        tensor += received


def everyone_waits_for_its_isend_first(tensor):
    """stuck: a handle's wait comes back when the other rank has received"""
    mine, received = tensor.clone(), torch.empty_like(tensor)
    others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    for other in others:
        dist.isend(mine, other).wait()
    for other in others:
        dist.recv(received, other)
        tensor += received


def into_float32(tensor):
    """stuck: a message was larger than the tensor it was received into"""
    mine, received = tensor.clone(), torch.zeros(tensor.shape)
    others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    handles = [dist.isend(mine, other) for other in others]
    for other in others:
        dist.recv(received, other)
        tensor += received
    for handle in handles:
        handle.wait()
