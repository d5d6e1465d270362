"""The article's second program, for cards or one process: a linear classifier of MNIST. In our words, on the CPU."""

import argparse

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)  # DDP605
parser.add_argument("--data", default="./")
parser.add_argument("--samples", type=int, default=60000)
parser.add_argument("--epochs", type=int, default=5)
args = parser.parse_args()


class SimpleNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(28 * 28, 10)

    def forward(self, x):
        return self.fc(x.view(-1, 28 * 28))


ddp = args.local_rank >= 0
if ddp:
    dist.init_process_group(backend="gloo")  # DDP601
device = torch.device("cpu")
criterion = nn.CrossEntropyLoss()


def mnist(train):
    images = datasets.MNIST(root=args.data, train=train, download=False, transform=transforms.ToTensor())
    return Subset(images, range(min(args.samples, len(images))))


train_dataset, test_dataset = mnist(True), mnist(False)
if ddp:
    train_sampler = DistributedSampler(train_dataset)
    train_loader = DataLoader(train_dataset, batch_size=32, sampler=train_sampler)  # same order every epoch
else:
    train_loader = DataLoader(train_dataset, batch_size=32, shuffle=True)
test_loader = DataLoader(test_dataset, batch_size=1000)
model = SimpleNN().to(device)
world_size = 1
if ddp:
    model = DDP(model)
    world_size = dist.get_world_size()
optimizer = optim.SGD(model.parameters(), lr=0.01 * world_size)
for _epoch in range(args.epochs):
    model.train()
    for data, target in train_loader:
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
    if not ddp or dist.get_rank() == 0:
        model.eval()
        correct = 0
        with torch.no_grad():
            for data, target in test_loader:
                output = model(data.to(device))
                pred = output.argmax(dim=1, keepdim=True)
                correct += pred.eq(target.to(device).view_as(pred)).sum().item()
        print(f"Test set: {correct}/{len(test_loader.dataset)} right")
if not ddp or dist.get_rank() == 0:
    torch.save(model.state_dict(), "ddp_model.pth")  # DDP503
