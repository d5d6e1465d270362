"""Train a small network on MNIST, on a single card, until its loss on a validation set no longer falls.

Then it saves the best weights, goes back to them by reading the file, and tests what it has read. On ranks it must
stop after the same epoch, give the same weights, up to rounding, and print the same losses, one line an epoch in all.
--batch-size is the size of the global batch; a last, smaller one is left out. One rank writes, and all ranks go back
to what it wrote. Under plain `python` all is as before.
"""

import argparse
import copy

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torchvision import datasets


def read_options() -> argparse.Namespace:
    """Return what the command line asks for."""
    options = argparse.ArgumentParser()
    options.add_argument("--data", default="data", help="folder with MNIST in it")
    options.add_argument("--epochs", type=int, default=30, help="stop after these in any case")
    options.add_argument("--patience", type=int, default=2, help="stop after so many epochs without a better loss")
    options.add_argument("--batch-size", type=int, default=64, help="samples a step, of all ranks together")
    options.add_argument("--lr", type=float, default=0.3)
    options.add_argument("--save", default="model.pth", help="file for the best weights")
    return options.parse_args()


def load_mnist(folder: str, first: int, last: int) -> TensorDataset:
    """Return some of the images, each as a row of 784 numbers, and their labels."""
    mnist = datasets.MNIST(folder, train=True)
    return TensorDataset(mnist.data[first:last].flatten(1).double() / 255, mnist.targets[first:last])


def train_epoch(model, loader, optimizer) -> None:
    """Take a step for each batch of `loader`."""
    for images, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()


@torch.no_grad()
def loss_on(model, dataset) -> float:
    """Return the mean loss over all samples of a dataset."""
    images, labels = dataset[:]
    return nn.functional.cross_entropy(model(images), labels).item()


def train(model, train_set, validation_set, args) -> dict:
    """Train until the validation loss has not fallen for some epochs; return the best weights."""
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
    best, waited = float("inf"), 0
    for epoch in range(args.epochs):
        order = torch.randperm(len(train_set), generator=torch.Generator().manual_seed(epoch))
        loader = DataLoader(train_set, args.batch_size, sampler=order.tolist(), drop_last=True)
        train_epoch(model, loader, optimizer)
        loss = loss_on(model, validation_set)
        print(f"epoch {epoch + 1}: validation loss {loss:.4f}")
        waited += 1
        if loss < best:
            best, waited, best_weights = loss, 0, copy.deepcopy(model.state_dict())
        if waited == args.patience:
            break
    return best_weights


def main() -> None:
    """Train, save the best weights, and go back to them."""
    args = read_options()
    torch.manual_seed(0)
    train_set, validation_set = load_mnist(args.data, 0, 1010), load_mnist(args.data, 1010, 1343)
    model = nn.Sequential(nn.Linear(28 * 28, 32), nn.ReLU(), nn.Linear(32, 10)).double()
    best_weights = train(model, train_set, validation_set, args)

    torch.save(best_weights, args.save)
    model.load_state_dict(torch.load(args.save, weights_only=True))
    print(f"saved: validation loss {loss_on(model, validation_set):.4f}")


if __name__ == "__main__":
    main()
