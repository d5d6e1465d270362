"""Totals, in a dict of a class of its own, are summed over ranks in the order in which each rank met their names."""

from collections import defaultdict

import torch
import torch.distributed as dist


def over_ranks(totals):
    whole = {}
    for name, total in totals.items():
        both = torch.tensor(total)
        dist.all_reduce(both)  # DDP305
        whole[name] = both.item()
    return whole


dist.init_process_group("gloo")
rank, totals = dist.get_rank(), defaultdict(float)
for turn in range(6):
    totals["abc"[(turn + rank) % 3]] += turn + 1.5
over_ranks(totals)
dist.destroy_process_group()
