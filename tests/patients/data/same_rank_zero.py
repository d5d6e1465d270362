"""Every rank says to its sampler that it is the first one."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def make_loader(dataset):
    sampler = DistributedSampler(dataset, num_replicas=dist.get_world_size(), rank=0)  # DDP201
    return DataLoader(dataset, sampler=sampler, batch_size=5), sampler


def main():
    dist.init_process_group("gloo")
    generator = torch.Generator().manual_seed(0)
    loader, sampler = make_loader(TensorDataset(torch.randn(60, 3, generator=generator)))
    model = DistributedDataParallel(torch.nn.Linear(3, 1, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
    dist.destroy_process_group()


main()
