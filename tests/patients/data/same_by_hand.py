"""Batches cut by hand from a tensor; each rank cuts the same ones, and averages the gradients itself."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
images = torch.rand(60, 5, generator=torch.Generator().manual_seed(3))
targets = images.sum(dim=1, keepdim=True)
torch.manual_seed(0)
model = torch.nn.Linear(5, 1)
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
for start in range(0, 60, 10):
    batch = slice(start, start + 10)
    loss = torch.nn.functional.l1_loss(model(images[batch]), targets[batch])  # DDP201
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    optimizer.step()
dist.destroy_process_group()
