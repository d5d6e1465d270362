"""lesson6_score_and_resume: Train a classifier of MNIST in a run that may be killed, and go on as if it had not been.
Written from ddp_lessons, by the notebook of that name: change those, not this."""

import argparse
import contextlib
import fcntl
import glob
import hashlib
import io
import itertools
import os
import pickle
import random
import signal
import socket
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator

import numpy
import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets


def training_options() -> argparse.ArgumentParser:
    """Return the command line of a training script."""
    options = argparse.ArgumentParser(usage=argparse.SUPPRESS, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    if os.environ.get("RANK", "0") != "0":
        options.error = lambda message: time.sleep(9)  # rank 0 says it, and torchrun ends us
    options.add_argument("--data", default="data", help="folder with MNIST in it; downloaded if missing")
    options.add_argument("--model", choices=["linear", "cnn"], default="linear", help="what to train")
    options.add_argument("--epochs", type=int, default=5, help="passes over the training set")
    options.add_argument("--batch-size", type=int, default=32, help="samples a step, per rank")
    options.add_argument("--lr", type=float, default=0.01, help="learning rate, before scaling by the ranks")
    options.add_argument("--samples", type=int, help="train on this many images only")
    options.add_argument("--seed", type=int, default=0, help="for the first weights and the order")
    options.add_argument("--save", default="ddp_" * ("RANK" in os.environ) + "model.pth", help="file for the weights")
    return options


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


def join_ranks() -> tuple[torch.device, int, int]:
    """Join the launcher's process group, if any; return device, rank and world_size."""
    if "RANK" not in os.environ:  # plain python: a single card, no group
        return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu"), 0, 1
    cards, device = torch.cuda.device_count(), torch.device("cpu")  # no MPS in gloo
    if cards:
        device = torch.device("cuda", dist.get_node_local_rank() % cards)
        torch.cuda.set_device(device)  # first of all: else every rank strays to card 0
    own_card = int(os.environ["LOCAL_WORLD_SIZE"]) <= cards  # nccl wants one each
    dist.init_process_group("nccl" if own_card else "gloo", device_id=device if own_card else None)
    return device, dist.get_rank(), dist.get_world_size()


class InMemory(TensorDataset):
    """A TensorDataset whose loader fetches a batch at once, not sample by sample."""

    def __getitems__(self, indices):  # a batch, with nothing left to collate
        return tuple(tensor.index_select(0, torch.tensor(indices)) for tensor in self.tensors)


def load_mnist(folder: str, train: bool, samples: int | None = None) -> InMemory:
    """Return images (N, 1, 28, 28), float32 from 0 to 1, and labels (N,), int64: all, or the first `samples`."""
    try:
        mnist = datasets.MNIST(folder, train, download=True)
    except (AssertionError, OSError, RuntimeError, ValueError) as error:
        raise SystemExit(f"no MNIST in {folder!r} ({str(error).split(':')[0]}): empty it, or give --data") from None
    return InMemory(mnist.data[:samples].unsqueeze(1).float().div(255), mnist.targets[:samples])


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


def build_model(name: str) -> nn.Module:
    """Return a new `linear` (7,850 weights) or `cnn` (421,642): images (B, 1, 28, 28) in, logits (B, 10) out."""
    if name == "linear":
        return nn.Sequential(OrderedDict(flatten=nn.Flatten(), fc=nn.Linear(28 * 28, 10)))
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )


def from_rank_0(make):
    """Return on every rank what `make()` returns on rank 0; where it exits instead, with a sentence, all exit."""
    outcome = [None, None]
    if not dist.is_initialized():
        return make()
    if dist.get_rank() == 0:
        try:
            outcome[0] = make()
        except SystemExit as refusal:
            outcome[1] = str(refusal)
    dist.broadcast_object_list(outcome)
    if outcome[1]:
        if dist.get_rank() == 0:
            raise SystemExit(outcome[1])
        time.sleep(1)  # rank 0 ends first, and so is the one that torchrun blames
        raise SystemExit(1)
    return outcome[0]


def lock_folder(folder: str, seconds: int = 10) -> None:
    """Keep other runs out of `folder` while this process lives: the system lets go when it ends, however it ends.

    If another run is there, wait so many seconds for it to end, then exit with a sentence that names its process.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        lock = os.open(f"{folder}/lock", os.O_RDWR | os.O_CREAT)  # stays open to the end
    except OSError as error:
        raise SystemExit(f"no checkpoints can be kept in {folder!r}: {error}") from None
    for attempt in range(seconds * 10):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            owner = os.pread(lock, 99, 0).decode()
        except OSError as error:
            raise SystemExit(f"{folder} cannot be locked, give a folder on another file system: {error}") from None
        if attempt == 0:
            print(f"{folder} is in use by process {owner}: waiting up to {seconds} s for its end", flush=True)
        time.sleep(0.1)
    else:
        raise SystemExit(f"{folder} is in use by process {owner}: end that, or give another folder")
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()} on {socket.gethostname()}".encode(), 0)


def checkpoints(folder: str) -> list[str]:
    """Return the paths of the checkpoints in `folder`, the oldest first."""
    return sorted(glob.glob(f"{glob.escape(folder)}/epochs-????-steps-?????????-{'?' * 16}.pth"))


def checksum(content: bytes) -> str:
    """Return 16 digits that another content would not have, as in the file names of torch.hub."""
    return hashlib.sha256(content).hexdigest()[:16]


def newest_checkpoint(folder: str) -> tuple[str | None, bytes]:
    """Return the path and content of the last whole checkpoint in `folder`, if any; set the damaged aside."""
    try:
        for path in reversed(checkpoints(folder)):
            with open(path, "rb") as file:
                content = file.read()
            if f"-{checksum(content)}." in path:
                return path, content
            os.replace(path, f"{path}.damaged")
            print(f"{path} is not what was written ({len(content)} bytes): set aside, the one before is tried")
    except OSError as error:
        raise SystemExit(f"a checkpoint in {folder} cannot be read: {error}") from None
    return None, b""


def read_state(content: bytes) -> dict:
    """Return the state in a checkpoint's content, on the CPU. Raise ValueError if it may be code, or is none."""
    try:
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ValueError("holds more than tensors and numbers, which could be code: none of it was run") from None
    except Exception:  # noqa: BLE001 (what is no file of torch's ends torch.load in any way)
        state = None
    if not isinstance(state, dict) or type(state.get("version")) is not int:
        raise ValueError("is no checkpoint of a training")
    if state["version"] > 1:
        raise ValueError(f"is of version {state['version']}, and this program reads version 1: use a newer one")
    return state


def bare_weights(weights: dict) -> dict:
    """Return weights under the names of the bare model: without what DDP (`module.`) and compile put before them."""
    weights = dict(weights)
    for prefix in ("_orig_mod.", "module.", "_orig_mod."):  # compiled and wrapped in either order
        if all(name.startswith(prefix) for name in weights):  # else it is a part of the model that is named so
            consume_prefix_in_state_dict_if_present(weights, prefix)
    return weights


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


class ResumableSampler(DistributedSampler):
    """A DistributedSampler that can begin in mid-epoch, where all ranks together have read `start` samples."""

    start = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch, self.start = epoch, 0

    def __iter__(self):
        return itertools.islice(super().__iter__(), self.start // self.num_replicas, None)


def seed_all(seed: int) -> None:
    """Begin every random number generator of this rank at `seed`; torch.manual_seed begins only torch's own."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def gather(value: object) -> list:
    """Return every rank's `value`, in order of ranks; without a group, a list of one."""
    values = [value]
    if dist.is_initialized():
        values *= dist.get_world_size()
        dist.all_gather_object(values, value)
    return values


def random_states(device) -> list:
    """Return where every random number generator of this rank stands: Python's, numpy's, torch's, its card's."""
    name, keys, *rest = numpy.random.get_state()
    card = None if device.type == "cpu" else torch.get_device_module(device).get_rng_state()
    return [random.getstate(), (name, keys.tolist(), *rest), torch.get_rng_state(), card]


def set_random_states(states: list, device) -> None:
    """Put every random number generator of this rank where it stood."""
    random.setstate(states[0])
    numpy.random.set_state(states[1])
    torch.set_rng_state(states[2])
    if states[3] is not None and device.type != "cpu":
        torch.get_device_module(device).set_rng_state(states[3])


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


def write_checkpoint(state: dict, folder: str, keep: int) -> str:
    """Write `state` to a new file, whole or not at all, even if the machine goes down; delete all but the last `keep`.

    Returns its path, which tells the epochs and steps that are done, and a checksum of the content.
    """
    buffer = io.BytesIO()
    torch.save(state, buffer)
    done = f"epochs-{state['sampler']['epoch']:04d}-steps-{state['step']:09d}"
    path = f"{folder}/{done}-{checksum(buffer.getbuffer())}.pth"
    try:
        with open(f"{folder}/partial", "wb") as file:
            file.write(buffer.getbuffer())
            file.flush()
            os.fsync(file.fileno())  # the content is on the disk before its name is
        os.replace(f"{folder}/partial", path)
        entry = os.open(folder, os.O_RDONLY)
        os.fsync(entry), os.close(entry)  # and the name, before an older file goes
        for old in checkpoints(folder)[:-keep]:
            os.remove(old)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.remove(f"{folder}/partial")
        raise SystemExit(f"no checkpoint of step {state['step']} in {folder}, older ones are kept: {error}") from None
    return path


def save_model(model, path: str) -> None:
    """Write the weights of `model` to `path`, whole or not at all, whenever we may be killed."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=os.path.dirname(path) or ".") as folder:
            with open(f"{folder}/weights", "wb", buffering=0) as file:
                torch.save(model.state_dict(), file)
            os.replace(f"{folder}/weights", path)
    except (OSError, RuntimeError) as error:
        raise SystemExit(f"{path} was not saved, and is as it was: {error.__context__ or error}") from None


def any_rank(flag: bool, group) -> bool:
    """Return, on every rank, whether `flag` holds on one: all ranks of a gloo group call it, at the same step."""
    if not dist.is_initialized():
        return flag
    flags = torch.tensor(int(flag))
    dist.all_reduce(flags, dist.ReduceOp.MAX, group)
    return bool(flags)


@torch.no_grad()
def score(model, samples, device, rank: int, world_size: int, classes: int = 10) -> tuple[float, torch.Tensor]:
    """Return the mean loss over all samples, and a table (classes, classes) of counts: label down, answer across.

    All ranks call it with the same samples and the bare model, not DDP's; each takes its share, and gets the whole
    score. A share may be empty.
    """
    model.eval()
    shared = dist.is_initialized() and world_size > 1
    for buffer in model.buffers() if shared else []:
        dist.broadcast(buffer, 0)  # BatchNorm's statistics, for one: rank 0's are those that it saves
    sums = torch.zeros(classes**2 + 1, dtype=torch.float64)
    mine = Subset(samples, range(rank, len(samples), world_size))  # nothing padded, nothing dropped
    for images, labels in DataLoader(mine, 1000, collate_fn=tuple):
        logits = model(images.to(device)).cpu().double()
        sums[:-1] += torch.bincount(labels * classes + logits.argmax(dim=1), minlength=classes**2)
        sums[-1] += nn.functional.cross_entropy(logits, labels, reduction="sum")
    if shared:
        sums = sums.to(device)
        dist.all_reduce(sums)  # once, all sums and counts
    return sums[-1].item() / len(samples), sums[:-1].view(classes, classes).long().cpu()


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


def listen_for_stop(launcher: int) -> Callable[[], bool]:
    """Return a function that tells whether this rank shall stop: it got SIGTERM or Ctrl-C, or its `launcher` died."""
    asked = []  # no threading.Event: a second signal in the middle of its set() would wait for itself
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.append(True))
    return lambda: bool(asked) or (dist.is_torchelastic_launched() and os.getppid() != launcher)


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


if __name__ == "__main__":
    main()
