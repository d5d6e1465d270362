"""What the drift alarm takes beside a step of DDP: each step is timed, and then the alarm, on all ranks of one run.

Run it as `torchrun --standalone --nproc-per-node 2 benchmarks/drift_alarm.py`.
"""

import argparse
import os
import time
from statistics import median

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.drift import raise_on_drift
from ddp_lessons.blocks.model import build_model
from ddp_lessons.blocks.ranks import join_ranks
from ddp_lessons.workbench.proof import small_cnn


def main() -> None:
    """Measure three models; print a line for each."""
    options = argparse.ArgumentParser(usage=argparse.SUPPRESS, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--data", default="data", help="folder with MNIST in it")
    options.add_argument("--steps", type=int, default=200, help="that count, for each model")
    options.add_argument("--batch-size", type=int, default=32, help="samples a step, per rank")
    if int(os.environ.get("RANK", "0")):
        options.error = lambda _: time.sleep(9)  # rank 0 says it, and torchrun ends us
    args = options.parse_args()
    if "RANK" not in os.environ or min(args.steps, args.batch_size) < 1:
        options.error("steps and batch size are numbers from 1, and the ranks are started by torchrun")
    device, rank, _ = join_ranks()
    images, labels = (tensor.to(device) for tensor in load_mnist(args.data, True, args.batch_size).tensors)
    for name, model in {"linear": build_model("linear"), "small": small_cnn(), "cnn": build_model("cnn")}.items():
        step, alarm = seconds(model.to(device), images, labels, args.steps)
        if rank == 0:
            print(f"{name}: a step takes {step * 1000:.2f} ms, the alarm {alarm * 1000:.2f} ms: {alarm / step:.0%}")
    dist.destroy_process_group()


def seconds(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, steps: int) -> tuple[float, float]:
    """Return the median time of a step, and that of the alarm after it, as this rank sees them.

    Before each, the ranks meet in a barrier. So the alarm's time holds its checksums, its message, and the wait for
    the slower rank's; not the wait for that rank's step, which the next all-reduce would take without an alarm too.
    """
    wrapped, optimizer, times = DDP(model), optim.SGD(model.parameters(), lr=0.01), ([], [])
    for step in range(steps + 2):  # the first two are slow, and do not count
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(wrapped(images), labels).backward()
        optimizer.step()
        if images.is_cuda:
            torch.cuda.synchronize()  # or what the GPU has left to do would count as the alarm's
        times[0].append(time.perf_counter() - start)
        dist.barrier()
        start = time.perf_counter()
        raise_on_drift(model, f"step {step}")
        times[1].append(time.perf_counter() - start)
    return median(times[0][2:]), median(times[1][2:])


if __name__ == "__main__":
    main()
