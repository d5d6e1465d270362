"""Every rank thinks it is another than the first: through a variable, in three ways."""

import os

import torch
import torch.distributed as dist


class Logger:
    def __init__(self):
        self.local_rank = os.getenv("LOCAL_RANK")
        self.quiet = self.local_rank != 0  # DDP603

    def log(self, text):
        match self.local_rank:
            case 0:  # DDP603
                print(text)
        if self.local_rank in (0, 8, 16):  # DDP603
            print(text)


dist.init_process_group("gloo")
logger = Logger()
dist.all_reduce(torch.ones(1))
logger.log("done")
dist.destroy_process_group()
