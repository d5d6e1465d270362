"""Whoever comes first makes the file, under a lock; the others find it."""

import fcntl
import os

import numpy
import torch.distributed as dist


def shared_table():
    with open("table.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists("table.npy"):
            numpy.save("table.npy", numpy.arange(10))
        return numpy.load("table.npy")


dist.init_process_group("gloo")
assert shared_table().sum() == 45
dist.destroy_process_group()
