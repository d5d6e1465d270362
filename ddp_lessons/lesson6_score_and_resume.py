"""Train a classifier of MNIST in a run that may be killed, and go on as if it had not been."""

import argparse
import itertools
import os
import signal
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from ddp_lessons.blocks.checkpoint import (
    bare_weights,
    checkpoints,
    newest_checkpoint,
    read_state,
    save_model,
    write_checkpoint,
)
from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.lock import lock_folder
from ddp_lessons.blocks.model import build_model
from ddp_lessons.blocks.random_states import random_states, seed_all, set_random_states
from ddp_lessons.blocks.ranks import from_rank_0, gather, join_ranks
from ddp_lessons.blocks.score import score
from ddp_lessons.blocks.stop import any_rank, listen_for_stop
from ddp_lessons.blocks.train import training_options


def resume_options() -> argparse.ArgumentParser:
    """Return the command line of a training script, with what concerns its checkpoints."""
    options = training_options()
    options.add_argument("--dropout", type=float, default=0.1, help="share of the pixels hidden in training")
    options.add_argument("--checkpoints", default="checkpoints", help="folder of this run's checkpoints")
    options.add_argument("--checkpoint-every", type=int, default=500, help="steps from one checkpoint to the next")
    options.add_argument("--keep", type=int, default=3, help="how many checkpoints stay")
    options.add_argument("--resume", choices=["auto"], help="go on from the last checkpoint, if there is one")
    options.add_argument("--local-rank", "--local_rank", help=argparse.SUPPRESS)  # old launchers
    return options


class ResumableSampler(DistributedSampler):
    """A DistributedSampler that can begin in mid-epoch, where all ranks together have read `start` samples."""

    start = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch, self.start = epoch, 0

    def __iter__(self):
        return itertools.islice(super().__iter__(), self.start // self.num_replicas, None)


class Training:
    """All that changes from step to step, on this rank."""

    def __init__(self, model, train_set, run: dict, device, rank: int, world_size: int):
        self.model, self.run, self.device, self.rank, self.step = model, run, device, rank, 0
        self.sampler = ResumableSampler(train_set, world_size, rank, seed=run["seed"], drop_last=True)
        self.loader = DataLoader(
            train_set, run["global_batch"] // world_size, sampler=self.sampler, drop_last=True, collate_fn=tuple,
            generator=torch.Generator(),  # of its own: to begin an epoch takes a random number
        )  # fmt: skip
        cards = [device] if device.type == "cuda" else None
        self.wrapped = DDP(model, device_ids=cards) if dist.is_initialized() else model
        rate = run["lr"] * run["global_batch"] / run["batch_size"]
        self.optimizer = optim.SGD(model.parameters(), rate, momentum=0.9)
        self.scheduler = optim.lr_scheduler.CosineAnnealingLR(self.optimizer, run["epochs"] * len(self.loader))
        seed_all(run["seed"] + rank)  # each rank hides pixels of its own

    def backward(self, images, labels) -> None:
        """Leave the gradient of a batch, averaged over the ranks."""
        seen = nn.functional.dropout(images.to(self.device), self.run["dropout"])
        self.loss = nn.functional.cross_entropy(self.wrapped(seen), labels.to(self.device))
        self.loss.backward()

    def rest_of_epoch(self) -> Iterator[int]:
        """Take the steps that are left of the epoch; after each, yield how many there have been since the start."""
        self.model.train()
        for images, labels in self.loader:
            self.optimizer.zero_grad()
            self.backward(images, labels)
            self.optimizer.step()
            self.scheduler.step()
            self.step += 1
            self.sampler.start += self.run["global_batch"]
            yield self.step

    def state_dict(self) -> dict:
        """Return all of it, as tensors, numbers and strings. All ranks call it: each adds its random states."""
        parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
        place = {"epoch": self.sampler.epoch, "start": self.sampler.start}
        states = gather(random_states(self.device))
        return {"version": 1, "run": self.run, "step": self.step, "sampler": place, "random": states, **parts}

    def load_state_dict(self, state: dict) -> None:
        """Go back to a state that `state_dict` gave, on as many ranks or on others."""
        self.backward(torch.zeros(2, 1, 28, 28), torch.zeros(2).long())  # DDP sorts its buckets after the first
        for name in ("optimizer", "scheduler"):
            getattr(self, name).load_state_dict(state[name])
        self.model.load_state_dict(bare_weights(state["model"]))
        self.step = state["step"]
        self.sampler.epoch, self.sampler.start = state["sampler"]["epoch"], state["sampler"]["start"]
        if self.rank < len(state["random"]):
            set_random_states(state["random"][self.rank], self.device)
        else:  # there was no such rank
            seed_all(self.run["seed"] + self.step + self.rank)


def refuse_unfit(state: dict, run: dict, model, world_size: int) -> None:
    """Raise ValueError, with the reason, unless `world_size` ranks can go on from `state` as the same run."""
    if not {"run", "step", "sampler", "model", "optimizer", "scheduler", "random"} <= state.keys():
        raise ValueError("is no checkpoint of this program")
    was = state["run"]
    others = [f"--{name.replace('_', '-')} {was.get(name)}" for name in run if was.get(name) != run[name]]
    if others:
        others = ", ".join(others).replace("None", "left out")
        raise ValueError(f"is of a run with {others}: give the same, or another --checkpoints")
    shapes = {name: weight.shape for name, weight in bare_weights(state["model"]).items()}
    if shapes != {name: weight.shape for name, weight in model.state_dict().items()}:
        raise ValueError("is of another model")
    if was["global_batch"] % world_size:
        raise ValueError(f"has {was['global_batch']} samples a step: {world_size} ranks cannot share them equally")


def find_state(args, run: dict, model, world_size: int) -> dict | None:
    """Return the state to go on from, or None to begin; exit where there is one that is not for us. Rank 0 calls."""
    lock_folder(args.checkpoints)
    if not args.resume and checkpoints(args.checkpoints):
        raise SystemExit(f"{args.checkpoints} holds checkpoints: add --resume auto, or give another --checkpoints")
    path, content = newest_checkpoint(args.checkpoints)
    if path is None:
        if args.resume:
            print(f"no checkpoint in {args.checkpoints}: begins at step 0")
        return None
    try:
        state = read_state(content)
        refuse_unfit(state, run, model, world_size)
    except ValueError as error:
        before = "".join(f"; before it there is {earlier}" for earlier in checkpoints(args.checkpoints)[-2:-1])
        raise SystemExit(f"{path} {error}{before}") from None
    batch, ranks = state["run"]["global_batch"], len(state["random"])
    print(f"resumed at step {state['step']}, written by {ranks} ranks, with {batch} samples a step")
    return state


def train_to_the_end(training: Training, test_set, args, world_size: int, stop_asked) -> None:
    """Train to the end, or until one rank is asked to stop; write checkpoints on the way."""

    def save() -> None:
        state = training.state_dict()
        from_rank_0(lambda: write_checkpoint(state, args.checkpoints, args.keep))

    cpus = dist.new_group(backend="gloo") if dist.is_initialized() else None  # a card need not be waited for
    if training.sampler.epoch == args.epochs:
        from_rank_0(lambda: save_model(training.model, args.save))
        if training.rank == 0:
            print("nothing is left to train")
    while training.sampler.epoch < args.epochs:
        start = time.perf_counter()
        for step in training.rest_of_epoch():
            stop = any_rank(stop_asked(), cpus)
            if stop or step % args.checkpoint_every == 0:
                save()
            if stop:
                if training.rank == 0:
                    print(f"saved at step {step}, and stopped: --resume auto goes on")
                return
        training.loss.item()  # waits for a card's last step
        seconds = time.perf_counter() - start
        loss, table = score(training.model, test_set, training.device, training.rank, world_size)
        epoch, accuracy = training.sampler.epoch + 1, table.trace() / table.sum()
        training.sampler.set_epoch(epoch)
        if training.rank == 0:
            print(f"epoch {epoch}: test loss {loss:.4f}, accuracy {accuracy:.2%}, trained in {seconds:.2f} s")
        save()
        from_rank_0(lambda: save_model(training.model, args.save))


def load_data(args):
    """Return the training set and the test set; one rank of each machine unpacks them first."""
    if dist.is_initialized():
        if dist.get_node_local_rank() == 0:
            load_mnist(args.data, True, 1), load_mnist(args.data, False, 1)
        dist.barrier()
    return load_mnist(args.data, train=True, samples=args.samples), load_mnist(args.data, train=False)


def refuse_bad(options, args) -> None:
    """Exit with a sentence if an option is out of its range."""
    samples = 1 if args.samples is None else args.samples
    numbers = args.epochs, args.batch_size, args.checkpoint_every, args.keep, samples
    rates = 0 < args.lr < float("inf") and 0 <= args.dropout < 1
    if min(numbers) < 1 or not rates or (os.path.exists(args.save) and not os.path.isfile(args.save)):
        options.error("epochs, batch size, samples, steps to a checkpoint and how many to keep are numbers from 1; "
                      "--lr is above 0; --dropout is from 0 to below 1; --save is a file")


def main() -> None:
    """Join; find what there is to go on from; train, test on all ranks, and write checkpoints on the way."""
    options = resume_options()
    args = options.parse_args()
    launcher = os.getppid()
    signal.alarm(300)  # had the launcher died by now, we would wait for the others for half an hour
    device, rank, world_size = join_ranks()
    signal.alarm(0)
    distributed = dist.is_initialized()
    if rank == 0:
        print(f"ranks: {world_size}, device: {device}, group: {dist.get_backend() if distributed else None}")
    train_set, test_set = load_data(args)
    refuse_bad(options, args)
    torch.manual_seed(args.seed)
    model = build_model(args.model).to(device)
    run = {name: getattr(args, name) for name in ("model", "epochs", "batch_size", "lr", "samples", "seed", "dropout")}
    state = from_rank_0(lambda: find_state(args, run, model, world_size))
    run["global_batch"] = state["run"]["global_batch"] if state else args.batch_size * world_size
    if len(train_set) < run["global_batch"]:
        options.error("--samples is too few: a step takes a batch for each rank")
    training = Training(model, train_set, run, device, rank, world_size)
    if state:
        training.load_state_dict(state)
    train_to_the_end(training, test_set, args, world_size, listen_for_stop(launcher))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # all is saved: another one is not to spoil the exit code
    if distributed:
        dist.destroy_process_group()
