"""Commands that a reader types, run in a process of their own on the smallest training there is."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAUNCH = [sys.executable, "-m", "ddp_lessons.workbench", "lesson4_ddp"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
TORCHRUN += [ROOT / "scripts" / "lesson4_ddp.py", "--data", ROOT / "data"]
SHORT = ["--epochs", "1", "--samples", "64"]


def run(command, *options, folder=ROOT, **more):
    """Run a command on its options; return its end, with what it said."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)} | more
    command = [*map(str, command), *map(str, options)]
    return subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True, timeout=600)
