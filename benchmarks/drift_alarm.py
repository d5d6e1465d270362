"""What the drift alarm costs in each step: steps with it and without take turns, on all ranks of one run.

Run it as `torchrun --standalone --nproc-per-node 2 benchmarks/drift_alarm.py`.
"""

import argparse
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
    options = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--data", default="data", help="folder with MNIST in it")
    options.add_argument("--steps", type=int, default=200, help="with the alarm, and as many without")
    options.add_argument("--batch-size", type=int, default=32, help="samples a step, per rank")
    args = options.parse_args()
    device, rank, _ = join_ranks()
    images, labels = (tensor.to(device) for tensor in load_mnist(args.data, True, args.batch_size).tensors)
    for name, model in {"linear": build_model("linear"), "small": small_cnn(), "cnn": build_model("cnn")}.items():
        step, alarm = seconds(model.to(device), images, labels, args.steps)
        if rank == 0:
            print(f"{name}: a step takes {step * 1000:.2f} ms, the alarm {alarm * 1000:.2f} ms: {alarm / step:.0%}")
    dist.destroy_process_group()


def seconds(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, steps: int) -> tuple[float, float]:
    """Return the median time of a step, and by how much that of a step with the alarm is longer."""
    wrapped, optimizer, times = DDP(model), optim.SGD(model.parameters(), lr=0.01), {False: [], True: []}
    for step in range(2 * steps + 4):  # the first ones are slow, and do not count
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(wrapped(images), labels).backward()
        optimizer.step()
        if step % 2:
            raise_on_drift(model, f"step {step}")
        elif images.is_cuda:
            torch.cuda.synchronize()  # the alarm waits for the GPU: so must the step without it
        times[bool(step % 2)].append(time.perf_counter() - start)
    plain, watched = (median(times[alarm][2:]) for alarm in (False, True))
    return plain, watched - plain


if __name__ == "__main__":
    main()
