"""Only the model is left to rank 0: the metrics are written by whoever comes by."""

import json

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, seen = dist.get_rank(), []
for epoch in range(3):
    total = torch.tensor(float(rank + epoch))
    dist.all_reduce(total)
    seen.append(total.item())
    if rank == 0:
        torch.save({"epoch": epoch}, f"epoch{epoch}.pt")
with open("metrics.json", "w") as file:  # DDP501
    json.dump(seen, file)
dist.barrier()
dist.destroy_process_group()
