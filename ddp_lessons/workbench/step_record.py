"""DDP steps on the clock: when each gradient is ready, which bucket carries it, and when its all-reduce runs."""

import time

import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.model import build_model

clock = time.perf_counter  # system-wide: ranks on one machine read the same one
SIZES = (2, 1, 0.05, 0.001)  # in MB; the CNN has 1.7 MB of weights


def record_steps(
    sizes: tuple[float, ...] = SIZES, steps: int = 4, folder: str = "../data", batch_size: int = 32
) -> list[dict]:
    """Return what happened when in DDP steps of the CNN on this rank, for each bucket size in MB.

    Each rank of the group calls it, and takes `steps` batches of MNIST of its own: forward and backward,
    no optimizer. For `DDPStep`, which draws what all ranks returned. Times are in seconds.
    """
    rank, ranks = dist.get_rank(), dist.get_world_size()
    mnist = load_mnist(folder, train=True, samples=steps * batch_size * ranks).tensors
    batches = list(zip(*(tensor[rank::ranks].split(batch_size) for tensor in mnist), strict=True))
    record_run(build_model("cnn"), sizes[0], batches[:1])  # a process's first step is slow: not kept
    return [{"bucket_mb": size, "steps": record_run(build_model("cnn"), size, batches)} for size in sizes]


def record_run(model: nn.Module, bucket_mb: float, batches: list[tuple[Tensor, Tensor]]) -> list[dict]:
    """Return what happened when in a step on each batch, with buckets of that size; leave the last gradients."""
    step = {}
    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda _, name=name: note_gradient(step, name))
    wrapped = DDP(model, bucket_cap_mb=bucket_mb)
    names = {parameter: name for name, parameter in model.named_parameters()}
    wrapped.register_comm_hook((step, names), note_and_average)
    steps = []
    for images, labels in batches:
        model.zero_grad()
        loss = nn.functional.cross_entropy(wrapped(images), labels)
        step.update(gradients=[], buckets=[], began=clock())
        loss.backward()
        steps.append(step | {"returned": clock()})
    return steps


def note_gradient(step: dict, name: str) -> None:
    """Note that a gradient is ready. PyTorch calls this before DDP's own hook, which sends a full bucket."""
    step["gradients"].append({"name": name, "ready": clock()})


def note_and_average(noted: tuple[dict, dict], bucket: dist.GradBucket) -> Future[Tensor]:
    """Average a bucket as DDP does, and note what it holds, when its all-reduce was begun, and when it was done."""
    step, names = noted
    carried = [names[parameter] for parameter in bucket.parameters()]
    entry = {"names": carried, "numbers": bucket.buffer().numel(), "begun": clock()}
    step["buckets"].append(entry)

    def note_end(average: Future[Tensor]) -> Tensor:  # on gloo's thread, or here at once if it is done already
        entry["done"] = clock()
        return average.value()

    return allreduce_hook(None, bucket).then(note_end)
