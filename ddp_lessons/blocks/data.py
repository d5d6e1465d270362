"""MNIST, held in memory."""

import torch
from torch.utils.data import TensorDataset
from torchvision import datasets


class InMemory(TensorDataset):
    """A TensorDataset whose loader fetches a batch at once, not sample by sample."""

    def __getitems__(self, indices):  # a batch, with nothing left to collate
        return tuple(tensor.index_select(0, torch.tensor(indices)) for tensor in self.tensors)


def load_mnist(folder: str, train: bool, samples: int | None = None) -> InMemory:
    """Return the training or test set, or its first `samples`; download it if need be.

    Images are (N, 1, 28, 28) float32 from 0 to 1, as `ToTensor` gives; labels (N,) int64.
    """
    mnist = datasets.MNIST(folder, train, download=True)
    return InMemory(mnist.data[:samples].unsqueeze(1).float().div(255), mnist.targets[:samples])
