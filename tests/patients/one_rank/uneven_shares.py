"""The samples are dealt out by hand, and rank 0 gets a batch more than the last."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset


def train(model, loader, optimizer):
    for x, y in loader:  # DDP405
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(25, 4), torch.randn(25, 1))
    loader = DataLoader(Subset(data, range(rank, 25, size)), batch_size=4)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
    dist.destroy_process_group()
