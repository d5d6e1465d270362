import torch
import torch.distributed as dist


def of_its_own_share(indices, correct, samples):
    """that is the rank's own share alone"""
    return sum(correct) / len(correct)


def over_padded_shares(indices, correct, samples):
    """the padding is in it"""
    counts = torch.tensor([sum(correct), len(correct)], dtype=torch.float64)
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def mean_of_scores(indices, correct, samples):
    """the padding is in it"""
    score = torch.tensor(sum(correct) / len(correct), dtype=torch.float64)
    dist.all_reduce(score)
    return score.item() / dist.get_world_size()


def all_right_ones_by_samples(indices, correct, samples):
    """right answers are counted twice where a sample came twice"""
    count = torch.tensor(sum(correct))
    dist.all_reduce(count)
    return count.item() / samples


def in_float32(indices, correct, samples):
    """that is exact to some digits"""
    right = torch.zeros(samples)
    right[indices] = torch.tensor(correct, dtype=torch.float32)
    dist.all_reduce(right, op=dist.ReduceOp.MAX)
    return right.mean().item()


def on_rank_0_alone(indices, correct, samples):
    """not every rank gave the score"""
    right = torch.zeros(samples, dtype=torch.float64)
    right[indices] = torch.tensor(correct, dtype=torch.float64)
    dist.all_reduce(right, op=dist.ReduceOp.MAX)
    return right.mean().item() if dist.get_rank() == 0 else None


def a_number_of_samples(indices, correct, samples):
    """that is a sum over samples"""
    right = torch.zeros(samples, dtype=torch.float64)
    right[indices] = torch.tensor(correct, dtype=torch.float64)
    dist.all_reduce(right, op=dist.ReduceOp.MAX)
    return right.sum().item()


def called_on_rank_0_alone(indices, correct, samples):
    """stuck: 2 ranks: a collective call comes back when all ranks have made it"""
    count = torch.tensor(sum(correct))
    if dist.get_rank() == 0:
        dist.all_reduce(count)
    return count.item() / samples


def padding_dropped_by_its_place(indices, correct, samples):
    """the samples are told apart by their numbers"""
    whole = dist.get_world_size() * (1 - len(indices)) + samples  # so many ranks have a share without padding
    count = torch.tensor(float(sum(correct[: len(correct) - (dist.get_rank() >= whole)])), dtype=torch.float64)
    dist.all_reduce(count)
    return count.item() / samples
