"""The vocabulary is built on rank 0; who does not find it goes on with an empty one, silently."""

import json
import os
import time

import torch.distributed as dist


def vocabulary():
    try:
        with open("words.json") as file:  # DDP502
            return json.load(file)
    except OSError:
        return {}


dist.init_process_group("gloo")
dist.barrier()
if int(os.environ["RANK"]) == 0:
    time.sleep(0.3)
    with open("words.json", "w") as file:
        json.dump({"the": 0, "a": 1}, file)
words = vocabulary()
dist.barrier()
dist.destroy_process_group()
