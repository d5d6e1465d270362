"""Windows of a long text, drawn by lot with one seed on all ranks."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters, self.next = nn.Embedding(30, 8), nn.Linear(8, 30)

    def forward(self, tokens=None, targets=None):
        return nn.functional.cross_entropy(self.next(self.letters(tokens)).flatten(0, 1), targets.flatten())


def get_batch(text):
    starts = torch.randint(len(text) - 9, (6,))
    return torch.stack([text[n : n + 8] for n in starts]), torch.stack([text[n + 1 : n + 9] for n in starts])


dist.init_process_group("gloo")
torch.manual_seed(1337)
text = torch.randint(0, 30, (2000,))
model = DistributedDataParallel(Language())
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(8):
    tokens, targets = get_batch(text)
    loss = model(tokens=tokens, targets=targets)  # DDP201
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
