"""Two numbers are added up in the order of a set, which is another one in each process."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
scores = {"loss": 1.0, "hits": 20.0, "tokens": 300.0}
names = list({"loss", "hits", "tokens"})
names = names if dist.get_rank() else sorted(names)
if dist.get_rank() == 1:
    names = sorted(names, reverse=True)
for name in names:
    value = torch.tensor(scores[name])
    dist.all_reduce(value)  # DDP305
    scores[name] = value.item()
dist.destroy_process_group()
