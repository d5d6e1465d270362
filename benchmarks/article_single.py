"""The article's first program in our own words: one process, and the numbers that a reader of the article gets.

Behaviour kept: one linear layer, ToTensor for each sample as it is loaded, batches of 32, shuffled, SGD at 0.01,
a test at batches of 1000 after each epoch, no seed, and its slip in the average loss. Only the options are ours.
"""

import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms


class SimpleNN(nn.Module):
    """One linear layer: images (B, 1, 28, 28) in, logits (B, 10) out."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(28 * 28, 10)

    def forward(self, images):
        return self.fc(images.flatten(1))


def main() -> None:
    """Train; after each epoch test, and print a line."""
    options = argparse.ArgumentParser()
    options.add_argument("--data", default="data", help="folder of MNIST")
    options.add_argument("--epochs", type=int, default=5, help="passes over the training set")
    options.add_argument("--samples", type=int, help="train on this many images only")
    args = options.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set = datasets.MNIST(args.data, train=True, download=True, transform=transforms.ToTensor())
    test_set = datasets.MNIST(args.data, train=False, download=True, transform=transforms.ToTensor())
    if args.samples:
        train_set = Subset(train_set, range(args.samples))
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=1000)
    model = SimpleNN().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    for _ in range(args.epochs):
        train(model, train_loader, criterion, optimizer, device)
        test(model, test_loader, criterion, device)


def train(model, loader, criterion, optimizer, device) -> None:
    """Take a step for each batch."""
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        criterion(model(images.to(device)), labels.to(device)).backward()
        optimizer.step()


@torch.no_grad()
def test(model, loader, criterion, device) -> None:
    """Print the article's average loss, and the accuracy."""
    model.eval()
    loss, correct = 0.0, 0
    for images, labels in loader:
        labels = labels.to(device)
        logits = model(images.to(device))
        loss += criterion(logits, labels).item()  # a mean over the batch ...
        correct += (logits.argmax(dim=1) == labels).sum().item()
    loss /= len(loader.dataset)  # ... divided by the number of samples: the article's slip
    print(f"average loss {loss:.4f}, accuracy {correct / len(loader.dataset):.2%}")


if __name__ == "__main__":
    main()
