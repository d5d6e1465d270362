"""Train a small network on MNIST, on a single card: in a new order each epoch, with its score after each.

On ranks it must give the same weights, up to rounding, and the same scores. --batch-size is the size of the global
batch. The test set is shared out as well: no rank tests it all, and each sample counts once, though the number of
samples is odd. One rank prints, one line an epoch, and saves. Under plain `python` all is as before.
"""

import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torchvision import datasets


def read_options() -> argparse.Namespace:
    """Return what the command line asks for."""
    options = argparse.ArgumentParser()
    options.add_argument("--data", default="data", help="folder with MNIST in it")
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--batch-size", type=int, default=64, help="samples a step, of all ranks together")
    options.add_argument("--lr", type=float, default=0.1)
    options.add_argument("--seed", type=int, default=0, help="for the first weights and the order")
    options.add_argument("--save", default="model.pth", help="file for the weights")
    return options.parse_args()


def load_mnist(folder: str, train: bool, samples: int) -> TensorDataset:
    """Return the first images, each as a row of 784 numbers, and their labels."""
    mnist = datasets.MNIST(folder, train)
    return TensorDataset(mnist.data[:samples].flatten(1).double() / 255, mnist.targets[:samples])


def train_epoch(model, loader, optimizer) -> None:
    """Take a step for each batch of `loader`."""
    for images, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()


@torch.no_grad()
def score(model, dataset) -> float:
    """Return the share of a dataset that is classified right."""
    right = 0
    for images, labels in DataLoader(dataset, batch_size=50):
        right += (model(images).argmax(dim=1) == labels).sum().item()
    return right / len(dataset)


def main() -> None:
    """Train, test after each epoch, and save at the end."""
    args = read_options()
    torch.manual_seed(args.seed)
    train_set = load_mnist(args.data, train=True, samples=2048)
    test_set = load_mnist(args.data, train=False, samples=333)
    model = nn.Sequential(nn.Linear(28 * 28, 32), nn.ReLU(), nn.Linear(32, 10)).double()
    optimizer = optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        order = torch.randperm(len(train_set), generator=torch.Generator().manual_seed(args.seed + epoch))
        train_epoch(model, DataLoader(train_set, args.batch_size, sampler=order.tolist()), optimizer)
        print(f"epoch {epoch + 1}: {score(model, test_set):.3%} right")
    torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()
