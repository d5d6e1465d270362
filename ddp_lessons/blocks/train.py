"""The training loop, and the options every training script takes."""

import argparse
import os
import time

from torch import nn


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
