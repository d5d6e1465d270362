"""Each batch gets noise in the training loop. Gradients are averaged by hand, and there is no wrapper."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset, TensorDataset


def average(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad.div_(dist.get_world_size())


dist.init_process_group("gloo")
torch.manual_seed(5)  # DDP207
data = TensorDataset(torch.randn(60, 4), torch.randn(60, 1))
mine = Subset(data, range(dist.get_rank(), 60, dist.get_world_size()))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(2):
    for x, y in DataLoader(mine, batch_size=5):
        loss = (model(x + 0.1 * torch.randn_like(x)) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        average(model)
        optimizer.step()
dist.destroy_process_group()
