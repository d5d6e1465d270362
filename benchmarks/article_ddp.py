"""The article's second program in our own words: on many ranks if it is given `--local_rank`, else in one process.

Behaviour kept: DistributedSampler without set_epoch, 32 samples a rank, SGD at 0.01 times the ranks, accuracy
tested and weights saved by rank 0 through the wrapped model, no seed, the group never destroyed. Where the article
says nccl and .cuda(), this runs on CPUs over gloo; every option but --local_rank is ours.
"""

import argparse

import torch
import torch.distributed as dist
from article_single import SimpleNN, train
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms


def main() -> None:
    """Train; after each epoch let the main process test; at the end let it save."""
    options = argparse.ArgumentParser()
    options.add_argument("--local_rank", type=int, default=-1, help="given by the launcher, says the article")
    options.add_argument("--data", default="data", help="folder of MNIST")
    options.add_argument("--epochs", type=int, default=5, help="passes over the training set")
    options.add_argument("--samples", type=int, help="train on this many images only")
    options.add_argument("--save", default="ddp_model.pth", help="file for the trained weights")
    args = options.parse_args()
    distributed = args.local_rank >= 0
    if distributed:
        dist.init_process_group("gloo")
    train_set = datasets.MNIST(args.data, train=True, transform=transforms.ToTensor())
    if args.samples:
        train_set = Subset(train_set, range(args.samples))
    test_set = datasets.MNIST(args.data, train=False, transform=transforms.ToTensor())
    sampler = DistributedSampler(train_set) if distributed else None
    train_loader = DataLoader(train_set, batch_size=32, shuffle=sampler is None, sampler=sampler)
    test_loader = DataLoader(test_set, batch_size=1000)
    model = DDP(SimpleNN()) if distributed else SimpleNN()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.01 * (dist.get_world_size() if distributed else 1))
    is_main = not distributed or dist.get_rank() == 0
    for _ in range(args.epochs):
        train(model, train_loader, criterion, optimizer, "cpu")
        if is_main:
            test(model, test_loader)
    if is_main:
        torch.save(model.state_dict(), args.save)


@torch.no_grad()
def test(model, loader) -> None:
    """Print the accuracy; the article's second program has no test loss."""
    model.eval()
    correct = sum((model(images).argmax(dim=1) == labels).sum().item() for images, labels in loader)
    print(f"accuracy {correct / len(loader.dataset):.2%}")


if __name__ == "__main__":
    main()
