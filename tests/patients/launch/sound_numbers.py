"""Texts are made numbers before they are compared, or compared with texts, or with what cannot be a rank."""

import copy
import json
import os
import pickle
import subprocess
import sys

import torch
import torch.distributed as dist

local_rank = os.environ.get("LOCAL_RANK", -1)  # noqa: PLW1508
assert local_rank != -1 and isinstance(local_rank, str) and local_rank == str(int(local_rank))
assert {"0": "first", "1": "second", "2": "third", "3": "fourth"}[local_rank]
assert json.loads(json.dumps({"rank": local_rank})) == {"rank": local_rank}
assert type(pickle.loads(pickle.dumps(local_rank))) is str and copy.deepcopy([local_rank]) == [local_rank]
child = [sys.executable, "-c", "import os; print(os.environ['LOCAL_RANK'])"]
assert subprocess.check_output(child, env=os.environ.copy(), text=True).strip() == local_rank
rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", rank=rank, world_size=world_size)
dist.all_reduce(torch.ones(1))
if os.environ["RANK"] == "0":
    torch.save({"local_rank": local_rank, "device": "cpu:" + local_rank}, "state.pt")
    assert torch.load("state.pt") == {"local_rank": "0", "device": "cpu:0"}
if rank == 0:
    print("first of", os.environ["WORLD_SIZE"])
dist.barrier()
dist.destroy_process_group()
