"""The end of the article's second program, in short: rank 0 works on alone, and nobody destroys the group.

With `--destroy` all do.
"""

import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
for _ in range(20):
    dist.all_reduce(torch.ones(1000))  # the training
if dist.get_rank() == 0:
    time.sleep(0.5)  # the test
    print("rank 0 has saved")
if "--destroy" in sys.argv:
    dist.destroy_process_group()
