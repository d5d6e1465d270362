"""MNIST, held in memory."""

import torch
from torch.utils.data import TensorDataset
from torchvision import datasets


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
