"""A real file system that is soon full, for tests of what happens then."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(path: Path, size: str = "4m") -> Iterator[list[str]]:
    """Mount an empty file system of `size` at `path`; gives the words that a command begins with to see it.

    with small_disk(tmp_path / "disk", "4m") as inside:
        subprocess.run([*inside, sys.executable, "script.py", ...])

    Such a command starts in the folder `/`. Nobody else sees the mount, and it ends with the block, or
    with pytest. Skips the test where neither root nor a user namespace may mount.
    """
    path.mkdir(parents=True, exist_ok=True)
    apart = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    script = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && echo mounted && exec cat'  # cat ends with the pipe to it
    command = ["unshare", *apart, "sh", "-c", script, "sh", size, str(path)]
    pipes = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
    try:
        keeper = subprocess.Popen(command, text=True, **pipes)
    except FileNotFoundError:
        pytest.skip("needs Linux's unshare command")
    with keeper:
        if keeper.stdout.readline() != "mounted\n":
            pytest.skip(f"a small file system may not be mounted here: {keeper.stderr.read().strip()}")
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        yield ["nsenter", f"--target={keeper.pid}", *user, "--mount", "--"]
