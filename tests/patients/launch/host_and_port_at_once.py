"""Host and port are put into the environment together: the port is the worse of both, and the ranks never meet."""

import os

import torch.distributed as dist

os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29871"})  # DDP602
dist.init_process_group("gloo")
dist.destroy_process_group()
