"""Rank 0 puts the file there whole; the others look for it until it is there."""

import json
import os
import time

import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 0:
    time.sleep(0.3)
    with open("table.new", "w") as file:
        json.dump([1, 2, 3], file)
    os.replace("table.new", "table.json")
while True:
    try:
        with open("table.json") as file:
            table = json.load(file)
        break
    except FileNotFoundError:
        time.sleep(0.05)
dist.destroy_process_group()
