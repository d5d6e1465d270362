"""An alarm for ranks that no longer hold the same weights."""

import torch
import torch.distributed as dist


def raise_on_drift(model, when: str) -> None:
    """Raise RuntimeError on every rank if one bit of a weight differs: all call it, at the same place in the loop.

    Each rank sends a checksum of each weight tensor: the sum of its bits, read as whole numbers.
    """
    if not dist.is_initialized():
        return
    sums = []
    for weight in model.parameters():
        bits = weight.detach().view(getattr(torch, f"int{8 * weight.element_size()}"))
        sums.append(bits.sum(dtype=torch.int64))
    everyones = [torch.stack(sums) for _ in range(dist.get_world_size())]
    dist.all_gather(everyones, torch.stack(sums))
    for (name, _), checksums in zip(model.named_parameters(), torch.stack(everyones, dim=1).tolist(), strict=True):
        strays = [rank for rank, checksum in enumerate(checksums) if checksum != checksums[0]]
        if strays:
            raise RuntimeError(f"{when}: {name} on rank {', '.join(map(str, strays))} is not what it is on rank 0")
