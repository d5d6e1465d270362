"""Lightning's Trainer, which rebuilds the loader that it is given with a DistributedSampler."""

import lightning
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Line(lightning.LightningModule):
    """A line through points; each rank prints its batches and losses."""

    def __init__(self):
        super().__init__()
        self.line = nn.Sequential(nn.Linear(3, 8), nn.Dropout(), nn.Linear(8, 1))

    def training_step(self, batch, _):
        (points,) = batch
        loss = (self.line(points) - points.sum(1, keepdim=True)).square().mean()
        print(f"rank {self.global_rank}: {len(points)} {loss.item()}\n", end="")
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)

    def train_dataloader(self):
        draws = torch.Generator().manual_seed(2)
        return DataLoader(TensorDataset(torch.randn(48, 3, generator=draws)), batch_size=6, shuffle=True)


if __name__ == "__main__":
    lightning.seed_everything(5)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_epochs=2, logger=False,
        enable_checkpointing=False, enable_progress_bar=False,
    )  # fmt: skip
    trainer.fit(Line())
    dist.destroy_process_group()
