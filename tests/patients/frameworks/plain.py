"""A loop of one's own: workers, augmentation and dropout draw random numbers, a schedule, accumulation."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Noisy(Dataset):
    """Forty rows, each with other noise whenever it is read."""

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.full((4,), float(index)) + torch.randn(4), index % 3


def main():
    dist.init_process_group("gloo")
    rank, data = dist.get_rank(), Noisy()
    torch.manual_seed(rank)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 3)))
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=6, sampler=sampler, num_workers=2, drop_last=True)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            with model.no_sync():
                nn.functional.cross_entropy(model(inputs[:3]), targets[:3]).backward()
            loss = nn.functional.cross_entropy(model(inputs[3:]), targets[3:])
            loss.backward()
            optimizer.step()
            schedule.step()
            print(f"rank {rank}: {len(inputs)} {loss.item()} {schedule.get_last_lr()}\n", end="")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
