"""A loop of one's own on Lightning's Fabric, which rebuilds the loader that it is given with a DistributedSampler."""

import torch
import torch.distributed as dist
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(5)
    draws = torch.Generator().manual_seed(4)
    data = TensorDataset(torch.randn(96, 3, generator=draws))
    loader = fabric.setup_dataloaders(DataLoader(data, batch_size=16, shuffle=True))
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(), nn.Linear(8, 1))
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.05))
    for _ in range(2):
        for (points,) in loader:
            optimizer.zero_grad()
            loss = (model(points) - points.sum(1, keepdim=True)).square().mean()
            fabric.backward(loss)
            optimizer.step()
            print(f"rank {fabric.global_rank}: {len(points)} {loss.item()}\n", end="")
    dist.destroy_process_group()
