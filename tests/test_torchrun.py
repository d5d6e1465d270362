"""What we say that torchrun is told, and tells its ranks, against torchrun itself; a host plays two machines."""

import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from slow import slow

from ddp_lessons.running.torchrun import torchrun_command, torchrun_environment

HERE = "127.0.0.1"
WRITE_DOWN = """
import json, os, pathlib
pathlib.Path(f"rank{os.environ['RANK']}.json").write_text(json.dumps(dict(os.environ)))
"""


def free_port() -> int:
    with socket.socket() as held:
        held.bind((HERE, 0))
        return held.getsockname()[1]


@pytest.mark.parametrize("machines, cards", [(1, 2), *(slow(*one) for one in [(1, 1), (2, 2)])])
def test_every_rank_has_the_environment_that_we_say(machines, cards, tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    (tmp_path / "write_down.py").write_text(WRITE_DOWN)
    port = free_port()

    def start(machine):
        command = torchrun_command(cards, machines, machine, HERE, port)
        assert command.pop(0) == "torchrun"
        command = [sys.executable, "-m", "torch.distributed.run", *command, "--local-addr", HERE, "write_down.py"]
        subprocess.run(command, cwd=tmp_path, env=dict(os.environ), check=True, timeout=600, capture_output=True)

    with ThreadPoolExecutor(machines) as pool:
        list(pool.map(start, range(machines)))
    files = sorted(tmp_path.glob("rank*.json"))
    assert [file.stem for file in files] == [f"rank{rank}" for rank in range(machines * cards)]
    for rank, file in enumerate(files):
        theirs = json.loads(file.read_text())
        if machines == 1:  # it has found a free port by itself, on an address of its own choice
            port = theirs["MASTER_PORT"]
            assert theirs["MASTER_ADDR"] in (HERE, "localhost", socket.gethostname())
        ours = torchrun_environment(rank, cards, port, machines, theirs["MASTER_ADDR"] if machines == 1 else HERE)
        assert ours == {name: theirs.get(name) for name in ours}
        assert ("OMP_NUM_THREADS" in theirs) == (cards > 1)


def test_the_command_of_one_machine_and_of_one_among_many():
    assert " ".join(torchrun_command(4)) == "torchrun --standalone --nproc-per-node 4"
    many = "torchrun --nnodes 3 --node-rank 2 --nproc-per-node 8 --master-addr ADDRESS_OF_MACHINE_0 --master-port 29500"
    assert " ".join(torchrun_command(8, machines=3, machine=2)) == many
