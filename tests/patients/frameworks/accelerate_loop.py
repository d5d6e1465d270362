"""Accelerate, which shards batches by a sampler of its own, and gathers for a score without the padding."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.manual_seed(5)
    draws = torch.Generator().manual_seed(4)
    data = TensorDataset(torch.randn(90, 3, generator=draws))
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loaders = DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=8)
    model, optimizer, train, test = accelerator.prepare(model, optimizer, *loaders)
    for (points,) in train:
        with accelerator.accumulate(model):
            loss = (model(points) - points.sum(1, keepdim=True)).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        print(f"rank {accelerator.process_index}: {len(points)} {loss.item()}\n", end="")
    model.eval()
    with torch.no_grad():
        errors = [
            accelerator.gather_for_metrics((model(points) - points.sum(1, keepdim=True)).square()) for (points,) in test
        ]
    error = torch.cat(errors)
    print(f"rank {accelerator.process_index}: tested on {len(error)}, {error.mean().item()}\n", end="")
    accelerator.end_training()
