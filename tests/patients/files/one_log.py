"""A log file that all ranks add to."""

import logging

import torch
import torch.distributed as dist


def logger_for(path):
    logger = logging.getLogger("train")
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.FileHandler(path))  # DDP501
    logger.propagate = False
    return logger


dist.init_process_group("gloo")
logger = logger_for("train.log")
for step in range(3):
    value = torch.ones(1)
    dist.all_reduce(value)
    logger.info("step %d value %s", step, value.item())
dist.destroy_process_group()
