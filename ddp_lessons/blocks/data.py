"""MNIST, held in memory."""

import torch
from torch.utils.data import TensorDataset
from torchvision import datasets


class InMemory(TensorDataset):
    """A TensorDataset whose loader takes a whole batch in one indexing call, not one a sample."""

    def __getitems__(self, indices):  # a whole batch: the loader's collate_fn has nothing left to do
        return tuple(tensor.index_select(0, torch.tensor(indices)) for tensor in self.tensors)


def load_mnist(folder: str, train: bool, samples: int | None = None) -> InMemory:
    """Return the training or test set, or its first `samples`, unpacked or downloaded if need be.

    Images are (N, 1, 28, 28) float32, the numbers from 0 to 1 that `ToTensor` gives; labels (N,) int64.
    """
    mnist = datasets.MNIST(folder, train, download=True)
    return InMemory(mnist.data[:samples].unsqueeze(1).float().div(255), mnist.targets[:samples])
