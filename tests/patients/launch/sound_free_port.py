"""Rank 0 asks the system for a free port, and tells the others, for a store of the script's own."""

import socket

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
port = torch.zeros(1, dtype=torch.long)
if dist.get_rank() == 0:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port[0] = listener.getsockname()[1]
dist.broadcast(port, 0)
store = dist.TCPStore("127.0.0.1", int(port), dist.get_world_size(), dist.get_rank() == 0)
dist.barrier()
dist.destroy_process_group()
