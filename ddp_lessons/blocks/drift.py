"""An alarm for ranks that no longer hold the same weights."""

import zlib

import torch
import torch.distributed as dist


def raise_on_drift(model, when: str) -> None:
    """Raise RuntimeError on every rank if one bit of a weight differs: all call it, at the same place in the loop.

    Each rank sends a checksum of each weight tensor. A GPU's weights are copied to the CPU for it: with many, call it
    now and then.
    """
    if not dist.is_initialized():
        return
    sums = []
    for weight in model.parameters():
        numbers = weight.detach().cpu().contiguous().flatten()
        sums.append(zlib.crc32(numbers.view(torch.uint8).numpy()))  # a plain sum would not see two that swap places
    sums = torch.tensor(sums, device=weight.device)
    everyones = [torch.empty_like(sums) for _ in range(dist.get_world_size())]
    dist.all_gather(everyones, sums)
    for (name, _), checksums in zip(model.named_parameters(), torch.stack(everyones, dim=1).tolist(), strict=True):
        strays = [rank for rank, checksum in enumerate(checksums) if checksum != checksums[0]]
        if strays:
            raise RuntimeError(f"{when}: {name} on rank {', '.join(map(str, strays))} is not what it is on rank 0")
