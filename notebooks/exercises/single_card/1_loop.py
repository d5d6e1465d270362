"""Train one linear layer on MNIST, on a single card: one loop over the data, in their order.

On ranks it must give the same weights, up to rounding. --batch-size is the size of the global batch, of which each
rank takes its share, and --lr stays as it is. One rank prints and saves. Under plain `python` all is as before.
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
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--batch-size", type=int, default=64, help="samples a step, of all ranks together")
    options.add_argument("--lr", type=float, default=0.1)
    options.add_argument("--save", default="model.pth", help="file for the weights")
    return options.parse_args()


def load_mnist(folder: str, samples: int) -> TensorDataset:
    """Return the first images, each as a row of 784 numbers, and their labels."""
    mnist = datasets.MNIST(folder, train=True)
    return TensorDataset(mnist.data[:samples].flatten(1).double() / 255, mnist.targets[:samples])


def main() -> None:
    """Train, save, and say how many images the model classifies right."""
    args = read_options()
    torch.manual_seed(0)
    train_set = load_mnist(args.data, samples=2048)
    loader = DataLoader(train_set, args.batch_size)
    model = nn.Linear(28 * 28, 10).double()
    optimizer = optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: done")

    torch.save(model.state_dict(), args.save)
    images, labels = train_set.tensors
    with torch.no_grad():
        right = (model(images).argmax(dim=1) == labels).sum().item()
    print(f"saved: {right} of {len(train_set)} images classified right")


if __name__ == "__main__":
    main()
