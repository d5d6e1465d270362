"""Train a classifier of MNIST on one global batch, however many ranks share it."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from ddp_lessons.blocks.checkpoint import save_model
from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.drift import raise_on_drift
from ddp_lessons.blocks.evaluate import evaluate
from ddp_lessons.blocks.model import build_model
from ddp_lessons.blocks.ranks import join_ranks
from ddp_lessons.blocks.schedule import scale_lr
from ddp_lessons.blocks.train import train_epoch, training_options


def global_batch_options() -> argparse.ArgumentParser:
    """Return the command line of a training script, with what concerns the global batch."""
    options = training_options()
    options.add_argument("--global-batch", type=int, help="samples a step, of all ranks; else batch size times ranks")
    options.add_argument("--scaling", choices=["none", "linear", "sqrt"], default="linear", help="of the learning rate")
    options.add_argument("--warmup-epochs", type=int, default=0, help="epochs until the scaled rate is reached")
    options.add_argument("--local-rank", "--local_rank", help=argparse.SUPPRESS)  # old launchers
    return options


def shared_loader(samples, global_batch: int, rank: int, world_size: int, seed: int) -> DataLoader:
    """Return a rank's loader: of all ranks together, each step's batch is the same, however many they are."""
    sampler = DistributedSampler(samples, world_size, rank, seed=seed, drop_last=True)
    return DataLoader(samples, global_batch // world_size, sampler=sampler, drop_last=True, collate_fn=tuple)


def main() -> None:
    """Train; after each epoch compare the ranks' weights, test, print a line, and save."""
    options = global_batch_options()
    args = options.parse_args()
    device, rank, world_size = join_ranks()
    distributed = dist.is_initialized()
    global_batch = args.batch_size * world_size if args.global_batch is None else args.global_batch
    if rank == 0:
        print(f"ranks: {world_size}, device: {device}, group: {dist.get_backend() if distributed else None}")
    torch.manual_seed(args.seed)
    if distributed:
        if dist.get_node_local_rank() == 0:
            load_mnist(args.data, True, 1), load_mnist(args.data, False, 1)  # one rank of each machine unpacks first
        dist.barrier()
    train_set = load_mnist(args.data, train=True, samples=args.samples)
    sizes = args.epochs, args.batch_size, args.samples or 1, args.warmup_epochs + 1, global_batch // world_size
    wrong = global_batch % world_size or global_batch > len(train_set) or not 0 < args.lr < float("inf")
    if min(sizes) < 1 or wrong or os.path.exists(args.save) > os.path.isfile(args.save):
        options.error("epochs, batch size and samples are numbers from 1; --global-batch is at most all samples, and "
                      "an equal share for each rank; --lr is above 0; --save is a file")
    loader = shared_loader(train_set, global_batch, rank, world_size, args.seed)
    test_loader = DataLoader(load_mnist(args.data, train=False), 1000, collate_fn=tuple)
    model = build_model(args.model).to(device)
    wrapped = DDP(model, device_ids=[device] if device.type == "cuda" else None) if distributed else model
    optimizer = optim.SGD(model.parameters(), lr=args.lr)
    scale_lr(optimizer, global_batch / args.batch_size, args.scaling, args.warmup_epochs * len(loader))
    for epoch in range(args.epochs):
        loader.sampler.set_epoch(epoch)
        seconds = train_epoch(wrapped, loader, optimizer, device)
        raise_on_drift(model, f"epoch {epoch + 1}")
        if rank != 0:
            continue  # only the main process tests, prints and saves
        loss, accuracy = evaluate(model, test_loader, device)
        print(f"epoch {epoch + 1}: test loss {loss:.4f}, accuracy {accuracy:.2%}, trained in {seconds:.2f} s")
        save_model(model, args.save)
    if distributed:
        dist.destroy_process_group()
