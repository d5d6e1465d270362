"""lesson5_same_answer: Train a classifier of MNIST on one global batch, however many ranks share it.
Written from ddp_lessons, by the notebook of that name: change those, not this."""

import argparse
import os
import tempfile
import time
import zlib
from collections import OrderedDict

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
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


def global_batch_options() -> argparse.ArgumentParser:
    """Return the command line of a training script, with what concerns the global batch."""
    options = training_options()
    options.add_argument("--global-batch", type=int, help="samples a step, of all ranks; else batch size times ranks")
    options.add_argument("--scaling", choices=["none", "linear", "sqrt"], default="linear", help="of the learning rate")
    options.add_argument("--warmup-epochs", type=int, default=0, help="epochs until the scaled rate is reached")
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


def shared_loader(samples, global_batch: int, rank: int, world_size: int, seed: int) -> DataLoader:
    """Return a rank's loader: of all ranks together, each step's batch is the same, however many they are."""
    sampler = DistributedSampler(samples, world_size, rank, seed=seed, drop_last=True)
    return DataLoader(samples, global_batch // world_size, sampler=sampler, drop_last=True, collate_fn=tuple)


def build_model(name: str) -> nn.Module:
    """Return a new `linear` (7,850 weights) or `cnn` (421,642): images (B, 1, 28, 28) in, logits (B, 10) out."""
    if name == "linear":
        return nn.Sequential(OrderedDict(flatten=nn.Flatten(), fc=nn.Linear(28 * 28, 10)))
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )


def scale_lr(optimizer, scale: float, rule: str, warmup_steps: int) -> None:
    """Raise the optimizer's rate, meant for one batch size, to that for `scale` times as many samples a step.

    The rule: `none`, `linear` (times scale) or `sqrt` (times its square root). In the first `warmup_steps`
    steps the rate climbs from what it was, by equal amounts, as in Goyal et al. 2017 (arXiv 1706.02677). A rate that
    falls, since `scale` is below 1, does so at once.
    """
    factor = {"none": 1, "linear": scale, "sqrt": scale**0.5}[rule]
    for group in optimizer.param_groups:
        group["lr"] *= factor
    if warmup_steps and factor > 1:
        climb = optim.lr_scheduler.LinearLR(optimizer, start_factor=1 / factor, total_iters=warmup_steps)
        optimizer.register_step_post_hook(lambda *_: climb.step())


def train_epoch(model, loader, optimizer, device) -> float:
    """Take a step for each batch of `loader`; return the seconds it took."""
    start = time.perf_counter()
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
    loss.item()  # a GPU works on while Python goes ahead: reading a number waits for it
    return time.perf_counter() - start


def raise_on_drift(model, when: str, group=None) -> None:
    """Raise RuntimeError on every rank if one bit of a weight differs: all of the group call it, at the same place.

    Each sends a checksum of each weight tensor; buffers may differ, as BatchNorm's do. A GPU's weights are copied to
    the CPU for it: with many, call it now and then.
    """
    weights, sums = dict(model.named_parameters()), []
    if not weights or not dist.is_initialized():
        return
    for weight in weights.values():
        numbers = weight.detach().cpu().contiguous().flatten()
        sums.append(zlib.crc32(numbers.view(torch.uint8).numpy()))  # a plain sum would not see two that swap places
    sums = torch.tensor(sums, device=weight.device)
    everyones = [torch.empty_like(sums) for _ in range(dist.get_world_size(group))]
    dist.all_gather(everyones, sums, group)
    for name, checksums in zip(weights, torch.stack(everyones, dim=1).tolist(), strict=True):
        strays = [rank for rank, checksum in enumerate(checksums) if checksum != checksums[0]]
        if strays:
            raise RuntimeError(f"{when}: {name} on rank {', '.join(map(str, strays))} is not what it is on rank 0")


@torch.no_grad()
def evaluate(model, loader, device) -> tuple[float, float]:
    """Return the mean loss over the loader's samples, and the share classified right."""
    model.eval()
    loss, correct = 0.0, 0
    for images, labels in loader:
        logits = model(images.to(device)).cpu()
        loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        correct += (logits.argmax(dim=1) == labels).sum().item()
    return loss / len(loader.dataset), correct / len(loader.dataset)


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


if __name__ == "__main__":
    main()
