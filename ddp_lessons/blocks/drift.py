"""An alarm for ranks that no longer hold the same weights."""

import zlib

import torch
import torch.distributed as dist


def raise_on_drift(model, when: str, group=None) -> None:
    """Raise RuntimeError on every rank if one bit of a weight differs: all of the group call it, at the same place.

    Each sends a checksum of each weight tensor; buffers may differ, as BatchNorm's do. A GPU's weights are copied to
    the CPU for it: with many, call it now and then.
    """
    weights, sums = dict(model.named_parameters()), []
    if not weights or not dist.is_initialized():
        return
    for weight in weights.values():
        numbers = weight.detach().cpu().contiguous().flatten()
        sums.append(zlib.crc32(numbers.view(torch.uint8).numpy()))  # a plain sum would not see two that swap places
    sums = torch.tensor(sums, device=weight.device)
    everyones = [torch.empty_like(sums) for _ in range(dist.get_world_size(group))]
    dist.all_gather(everyones, sums, group)
    for name, checksums in zip(weights, torch.stack(everyones, dim=1).tolist(), strict=True):
        strays = [rank for rank, checksum in enumerate(checksums) if checksum != checksums[0]]
        if strays:
            raise RuntimeError(f"{when}: {name} on rank {', '.join(map(str, strays))} is not what it is on rank 0")
