"""All ranks call print, and only rank 0's comes out: replaced, redirected, or not reached."""

import builtins
import contextlib
import io
import logging
import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
usual = builtins.print


def on_first(*args, force=False, **kwargs):
    if rank == 0 or force:
        usual(*args, **kwargs)


builtins.print = on_first
logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
for step in range(3):
    dist.all_reduce(torch.ones(1))
    print(f"step {step}", flush=True)
    logging.info("step %d", step)  # noqa: LOG015
with contextlib.redirect_stdout(io.StringIO()) as heard:
    usual("not on the screen")
assert heard.getvalue() == "not on the screen\n"
assert sys.stdout.encoding and sys.stdout.fileno() == 1 and isinstance(sys.stdout, io.TextIOWrapper)
if rank != 0:
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
usual("the end")
dist.destroy_process_group()
