"""Each rank saves the bare model at the end, to the same place."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def save(model, path):
    torch.save(model.state_dict(), path)  # DDP501


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    model = DDP(torch.nn.Linear(4, 2))
    train(model, 3)
    save(model.module, "model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
