"""The Trainer of Hugging Face's transformers, on a model of one's own."""

import tempfile

import torch
import torch.distributed as dist
from torch import nn
from transformers import Trainer, TrainingArguments


class Line(nn.Module):
    """A line through points; each rank prints its batches and losses."""

    def __init__(self):
        super().__init__()
        self.line = nn.Sequential(nn.Linear(3, 8), nn.Dropout(), nn.Linear(8, 1))

    def forward(self, points, labels):
        loss = (self.line(points) - labels).square().mean()
        print(f"rank {dist.get_rank()}: {len(points)} {loss.item()}\n", end="")
        return {"loss": loss}


if __name__ == "__main__":
    torch.manual_seed(5)
    draws = torch.Generator().manual_seed(4)
    rows = [{"points": row, "labels": row.sum(0, keepdim=True)} for row in torch.randn(64, 3, generator=draws)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=8, max_steps=6, use_cpu=True, ddp_backend="gloo", seed=5,
            save_strategy="no", report_to="none", disable_tqdm=True, logging_strategy="no",
        )  # fmt: skip
        trainer = Trainer(Line(), arguments, train_dataset=rows)
        trainer.train()
    dist.destroy_process_group()
