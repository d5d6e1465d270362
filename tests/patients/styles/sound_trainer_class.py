"""A Trainer class that keeps everything: its loaders, its model, snapshots that rank 0 writes and all read again."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Trainer:
    """Trains a model for some epochs, and saves it after each."""

    def __init__(self, model: nn.Module, dataset: TensorDataset, path: str):
        self.rank = int(os.environ["RANK"])
        self.model = DDP(model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 4)
        self.loader = DataLoader(dataset, batch_size=7, sampler=DistributedSampler(dataset, seed=3))
        self.path = path

    def run_batch(self, inputs: torch.Tensor, targets: torch.Tensor) -> float:
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.model(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def run_epoch(self, epoch: int) -> None:
        self.loader.sampler.set_epoch(epoch)
        total = torch.tensor(sum(self.run_batch(*batch) for batch in self.loader))
        dist.all_reduce(total)
        if self.rank == 0:
            print(f"epoch {epoch}: {total.item() / dist.get_world_size() / len(self.loader):.3f}")

    def save(self) -> None:
        if self.rank == 0:
            torch.save({"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict()}, self.path)
        dist.barrier()
        self.model.module.load_state_dict(torch.load(self.path, weights_only=True)["model"])
        dist.barrier()

    def train(self, epochs: int) -> None:
        for epoch in range(epochs):
            self.run_epoch(epoch)
            self.scheduler.step()
            self.save()


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    inputs = torch.randn(50, 6)
    dataset = TensorDataset(inputs, inputs.sum(dim=1).gt(0).long())
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
    Trainer(model, dataset, "snapshot.pt").train(4)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
