"""The exact score of a model, by all ranks together."""

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Subset


@torch.no_grad()
def score(model, samples, device, rank: int, world_size: int, classes: int = 10) -> tuple[float, torch.Tensor]:
    """Return the mean loss over all samples, and a table (classes, classes) of counts: label down, answer across.

    All ranks call it with the same samples and the bare model, not DDP's; each takes its share, and gets the whole
    score. A share may be empty.
    """
    model.eval()
    shared = dist.is_initialized() and world_size > 1
    for buffer in model.buffers() if shared else []:
        dist.broadcast(buffer, 0)  # BatchNorm's statistics, for one: rank 0's are those that it saves
    sums = torch.zeros(classes**2 + 1, dtype=torch.float64)
    mine = Subset(samples, range(rank, len(samples), world_size))  # nothing padded, nothing dropped
    for images, labels in DataLoader(mine, 1000, collate_fn=tuple):
        logits = model(images.to(device)).cpu().double()
        sums[:-1] += torch.bincount(labels * classes + logits.argmax(dim=1), minlength=classes**2)
        sums[-1] += nn.functional.cross_entropy(logits, labels, reduction="sum")
    if shared:
        sums = sums.to(device)
        dist.all_reduce(sums)  # once, all sums and counts
    return sums[-1].item() / len(samples), sums[:-1].view(classes, classes).long().cpu()
