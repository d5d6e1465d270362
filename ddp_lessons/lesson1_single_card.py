"""Train a classifier of MNIST on a single card."""

import os

import torch
from torch import optim
from torch.utils.data import DataLoader

from ddp_lessons.blocks.checkpoint import save_model
from ddp_lessons.blocks.data import load_mnist
from ddp_lessons.blocks.evaluate import evaluate
from ddp_lessons.blocks.model import build_model
from ddp_lessons.blocks.train import train_epoch, training_options


def main() -> None:
    """Train; after each epoch test, print a line, and save."""
    options = training_options()
    args = options.parse_args()
    device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    torch.manual_seed(args.seed)
    train_set = load_mnist(args.data, train=True, samples=args.samples)
    sizes = args.epochs, args.batch_size, args.samples or 1, len(train_set)
    if min(sizes) < 1 or os.path.exists(args.save) > os.path.isfile(args.save):
        options.error("epochs, batch size and samples are numbers from 1, for each rank a sample; --save is a file")
    loader = DataLoader(train_set, args.batch_size, shuffle=True, collate_fn=tuple)
    test_loader = DataLoader(load_mnist(args.data, train=False), 1000, collate_fn=tuple)
    model = build_model(args.model).to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        seconds = train_epoch(model, loader, optimizer, device)
        loss, accuracy = evaluate(model, test_loader, device)
        print(f"epoch {epoch + 1}: test loss {loss:.4f}, accuracy {accuracy:.2%}, trained in {seconds:.2f} s")
        save_model(model, args.save)
