"""A weighted sampler that draws the same samples on all ranks, since all are seeded alike."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, WeightedRandomSampler


def run(rank, size):
    torch.manual_seed(7)
    data = [(torch.tensor([float(n), n % 5.0]), n % 2) for n in range(50)]
    draw = WeightedRandomSampler([1 + 3 * label for _, label in data], num_samples=32)  # DDP201
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in DataLoader(data, sampler=draw, batch_size=8):
        torch.nn.CrossEntropyLoss()(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    run(dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()
