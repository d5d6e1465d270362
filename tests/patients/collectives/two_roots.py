"""Every rank gives itself as the source of the weights to start from."""

import torch
import torch.distributed as dist


def share(model):
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, src=dist.get_rank())  # DDP303


dist.init_process_group("gloo")
share(torch.nn.Linear(2, 2))
dist.destroy_process_group()
