"""The sampler is made for the test set, and so never names the later training samples."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Job:
    def __init__(self):
        self.train, self.test = (TensorDataset(torch.randn(n, 2), torch.zeros(n)) for n in (80, 24))
        self.sampler = DistributedSampler(self.test)  # DDP203
        self.loader = DataLoader(self.train, batch_size=4, sampler=self.sampler)
        self.model = DistributedDataParallel(torch.nn.Linear(2, 1))
        self.optimizer = torch.optim.NAdam(self.model.parameters())

    def run(self):
        for epoch in range(2):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.optimizer.zero_grad()
                torch.nn.functional.mse_loss(self.model(x).squeeze(1), y).backward()
                self.optimizer.step()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    torch.manual_seed(11)
    Job().run()
    dist.destroy_process_group()
