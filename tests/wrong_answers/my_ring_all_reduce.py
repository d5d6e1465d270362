import torch
import torch.distributed as dist


def by_the_real_one(tensor):
    """here only messages between two ranks are allowed"""
    dist.all_reduce(tensor)


def whole_tensors(tensor):
    """cut the tensor into N parts"""
    mine, received = tensor.clone(), torch.empty_like(tensor)
    others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    handles = [dist.isend(mine, other) for other in others]
    for other in others:
        dist.recv(received, other)
        tensor += received
    for handle in handles:
        handle.wait()


def first_round_only(tensor):
    """after N-1 steps each rank has one finished part"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = tensor.tensor_split(world_size)
    for step in range(world_size - 1):
        handle = dist.isend(parts[(rank - step) % world_size], (rank + 1) % world_size)
        mine = parts[(rank - step - 1) % world_size]
        received = torch.empty_like(mine)
        dist.recv(received, (rank - 1) % world_size)
        mine += received
        handle.wait()


def added_in_both_rounds(tensor):
    """in the second round finished parts arrive"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = tensor.tensor_split(world_size)
    for step in range(2 * (world_size - 1)):
        handle = dist.isend(parts[(rank - step) % world_size], (rank + 1) % world_size)
        mine = parts[(rank - step - 1) % world_size]
        received = torch.empty_like(mine)
        dist.recv(received, (rank - 1) % world_size)
        mine += received
        handle.wait()


def second_round_from_the_wrong_part(tensor):
    """the second round must begin with the part that is finished"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = tensor.tensor_split(world_size)
    for turn in range(2):
        for step in range(world_size - 1):
            handle = dist.isend(parts[(rank - step) % world_size], (rank + 1) % world_size)
            mine = parts[(rank - step - 1) % world_size]
            received = torch.empty_like(mine)
            dist.recv(received, (rank - 1) % world_size)
            mine.copy_(received if turn else mine + received)
            handle.wait()


def without_the_rest(tensor):
    """the last numbers were left out"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = tensor.split(len(tensor) // world_size)[:world_size]
    for step in range(2 * (world_size - 1)):
        handle = dist.isend(parts[(rank - step) % world_size], (rank + 1) % world_size)
        mine = parts[(rank - step - 1) % world_size]
        received = torch.empty_like(mine)
        dist.recv(received, (rank - 1) % world_size)
        mine.copy_(mine + received if step < world_size - 1 else received)
        handle.wait()


def each_part_to_its_owner(tensor):
    """4 ranks: in a ring a rank sends to one neighbour only"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = tensor.tensor_split(world_size)
    others = [other for other in range(world_size) if other != rank]
    handles = [dist.isend(parts[other].clone(), other) for other in others]
    received = torch.empty_like(parts[rank])
    for other in others:
        dist.recv(received, other)
        parts[rank].add_(received)
    handles += [dist.isend(parts[rank], other) for other in others]
    for other in others:
        dist.recv(parts[other], other)
    for handle in handles:
        handle.wait()


def running_sum_of_whole_tensors(tensor):
    """cut the tensor into N parts"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for _ in range(world_size):
        handle = dist.isend(tensor.clone(), (rank + 1) % world_size)
        received = torch.empty_like(tensor)
        dist.recv(received, (rank - 1) % world_size)
        tensor += received
        handle.wait()


def parts_of_one_length(tensor):
    """stuck: 2 ranks: two tensors differ in length"""
    rank, parts = dist.get_rank(), tensor.tensor_split(2)
    received = torch.empty_like(parts[0])
    for step in range(2):
        handle = dist.isend(parts[(rank + step) % 2], 1 - rank)
        dist.recv(received, 1 - rank)
        mine = parts[(rank + step + 1) % 2]
        mine.copy_(received if step else mine + received)
        handle.wait()


def too_few_parts(tensor):
    """4 ranks: are there N parts?"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = tensor.chunk(world_size)
    for step in range(2 * (world_size - 1)):
        handle = dist.isend(parts[(rank - step) % world_size], (rank + 1) % world_size)
        mine = parts[(rank - step - 1) % world_size]
        received = torch.empty_like(mine)
        dist.recv(received, (rank - 1) % world_size)
        mine.copy_(mine + received if step < world_size - 1 else received)
        handle.wait()


def average(tensor):
    """that is the average"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = tensor.tensor_split(world_size)
    for step in range(2 * (world_size - 1)):
        handle = dist.isend(parts[(rank - step) % world_size], (rank + 1) % world_size)
        mine = parts[(rank - step - 1) % world_size]
        received = torch.empty_like(mine)
        dist.recv(received, (rank - 1) % world_size)
        mine.copy_(mine + received if step < world_size - 1 else received)
        handle.wait()
    tensor /= world_size


def other_tensors_in_the_list(tensor):
    """some parts of the tensor are as they were"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = list(tensor.tensor_split(world_size))
    for step in range(2 * (world_size - 1)):
        handle = dist.isend(parts[(rank - step) % world_size], (rank + 1) % world_size)
        mine = parts[(rank - step - 1) % world_size]
        received = torch.empty_like(mine)
        dist.recv(received, (rank - 1) % world_size)
        if step < world_size - 1:
            parts[(rank - step - 1) % world_size] = mine + received
        else:
            mine.copy_(received)
        handle.wait()


def waits_for_its_isend_first(tensor):
    """stuck: a handle's wait comes back when the other rank has received"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = tensor.tensor_split(world_size)
    for step in range(2 * (world_size - 1)):
        dist.isend(parts[(rank - step) % world_size], (rank + 1) % world_size).wait()
        mine = parts[(rank - step - 1) % world_size]
        received = torch.empty_like(mine)
        dist.recv(received, (rank - 1) % world_size)
        mine.copy_(mine + received if step < world_size - 1 else received)


def into_float32(tensor):
    """stuck: a message was larger than the tensor it was received into"""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parts = tensor.tensor_split(world_size)
    for step in range(2 * (world_size - 1)):
        handle = dist.isend(parts[(rank - step) % world_size], (rank + 1) % world_size)
        mine = parts[(rank - step - 1) % world_size]
        received = torch.empty(len(mine))
        dist.recv(received, (rank - 1) % world_size)
        mine.copy_(mine + received if step < world_size - 1 else received)
        handle.wait()
