"""What a reader can get wrong, and what a machine can: one sentence from rank 0, and nothing lost."""

import contextlib
import gzip
import hashlib
import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from ranks import gone
from small_disk import small_disk
from torchvision.datasets import MNIST

from ddp_lessons.blocks.checkpoint import load_model
from ddp_lessons.blocks.model import build_model
from ddp_lessons.workbench.mnist import FILES, mend_mnist

ROOT = Path(__file__).parents[1]
RAW = ROOT / "data" / "MNIST" / "raw"
LAUNCH = [sys.executable, "-m", "ddp_lessons.workbench", "lesson4_ddp"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
TORCHRUN += [ROOT / "scripts" / "lesson4_ddp.py", "--data", ROOT / "data"]
NO_NETWORK = dict.fromkeys(["http_proxy", "https_proxy"], "http://127.0.0.1:9")
SHORT = ["--epochs", "1", "--samples", "64"]
TOO_FEW = "epochs, batch size and samples are numbers from 1, and each rank needs a sample of its own"


def run(command, *options, folder=ROOT, **more):
    """Run a command on its options; return its end, with what it said."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)} | more
    command = [*map(str, command), *map(str, options)]
    return subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True, timeout=100)


BAD = {
    "--epochs 0": TOO_FEW,
    "--samples 1": TOO_FEW,  # for two ranks
    "--epocs 2": "unrecognized arguments: --epocs 2",
}


@pytest.mark.parametrize("options", BAD)
def test_bad_options_are_one_sentence(options, mark):
    done = run(LAUNCH, *options.split())
    assert done.returncode == 1 and done.stderr == f"{BAD[options]}.\n" and "epoch 1" not in done.stdout
    assert gone(mark, seconds=5)


@pytest.mark.parametrize("options", ["--samples 1", "--epocs 2"])
def test_under_torchrun_rank_0_alone_says_it_first(options, mark):
    done = run(TORCHRUN, *options.split())
    assert done.returncode == 1 and done.stderr.startswith(f"lesson4_ddp.py: error: {BAD[options]}\n")
    assert done.stderr.count(BAD[options]) == 1 and gone(mark, seconds=5)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("lesson9", "there is no script lesson9: write_script it first, or take one of lesson1_single_card, "),
        ("lesson4_ddp --ranks 0", "0 ranks cannot be started: their number is a whole one from 1 to 64."),
        ("lesson4_ddp --ranks two", "start.py train: error: argument --ranks: invalid int value: 'two'"),
        ("lesson4_ddp --data /proc/no", "no MNIST can be put into '/proc/no': "),
    ],
)
def test_what_cannot_be_launched_is_told_at_once(arguments, told):
    done = run(LAUNCH[:3], *arguments.split())
    assert done.returncode in (1, 2) and done.stdout == ""
    assert done.stderr.startswith(told) and len(done.stderr.splitlines()) == 1


# MNIST on disk


def test_the_table_of_files_is_torchvisions():
    assert [(f"{name}.gz", md5) for name, (md5, _) in FILES.items()] == MNIST.resources


def damage(raw, how):
    """Make an MNIST folder that is damaged in one of the ways a bad day has."""
    shutil.copytree(RAW, raw)
    archive, unpacked = raw / "train-labels-idx1-ubyte.gz", raw / "train-labels-idx1-ubyte"
    unpacked.unlink(missing_ok=True)
    if how == "missing":
        archive.unlink()
    elif how == "truncated":
        archive.write_bytes(archive.read_bytes()[:1000])
    elif how == "wrong":
        archive.write_bytes(gzip.compress(b"something else"))
    elif how == "half unpacked":
        unpacked.write_bytes(gzip.decompress(archive.read_bytes())[:1000])


def assert_whole(raw):
    """Assert that every archive is the official one, and unpacked whole."""
    for name, (md5, size) in FILES.items():
        assert hashlib.md5((raw / f"{name}.gz").read_bytes()).hexdigest() == md5
        assert (raw / name).stat().st_size == size


@pytest.mark.parametrize("how", ["missing", "truncated", "wrong", "half unpacked"])
def test_a_damaged_archive_is_mended_from_the_repository(how, tmp_path, capsys):
    raw = tmp_path / "MNIST" / "raw"
    damage(raw, how)
    mend_mnist(tmp_path)
    was = {"truncated": "damaged", "wrong": "damaged"}.get(how, how)
    told = f"{raw}/train-labels-idx1-ubyte.gz was {was}: taken from the repository\n"
    assert capsys.readouterr().out == ("" if how == "half unpacked" else told)
    assert_whole(raw)


def test_launch_mends_the_archives_first(tmp_path):
    damage(tmp_path / "MNIST" / "raw", "wrong")
    done = run(LAUNCH[:3], "lesson1_single_card", "--data", tmp_path, "--save", tmp_path / "model.pth", *SHORT)
    assert done.returncode == 0 and "was damaged: taken from the repository\n" in done.stdout, done.stderr


def test_the_repositorys_own_archive_is_mended_from_git(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    subprocess.run(["git", "clone", "-q", ROOT, tmp_path / "clone"], check=True, timeout=60)
    raw = tmp_path / "clone" / "data" / "MNIST" / "raw"
    (raw / "t10k-images-idx3-ubyte.gz").write_bytes(b"broken")
    mend = "from ddp_lessons.workbench.mnist import *; mend_mnist(ROOT / 'data')"
    done = run([sys.executable, "-c", mend], folder=tmp_path, PYTHONPATH=str(tmp_path / "clone"))
    assert done.stdout.endswith("t10k-images-idx3-ubyte.gz was damaged: taken from the repository\n"), done.stderr
    assert_whole(raw)


def test_without_a_network_rank_0_says_what_is_missing(tmp_path, mark):
    done = run(TORCHRUN, "--data", tmp_path, **NO_NETWORK)
    told = f"no MNIST in {str(tmp_path)!r} (Error downloading train-images-idx3-ubyte.gz): empty it, or"
    assert done.returncode == 1 and done.stderr.startswith(told) and done.stderr.count(told) == 1
    assert gone(mark, seconds=5)


def test_with_a_network_the_script_downloads_what_is_missing(tmp_path):
    class Mirror(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            return str(RAW / Path(path).name)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxies = NO_NETWORK | {"http_proxy": f"http://127.0.0.1:{server.server_port}"}
        script = [sys.executable, ROOT / "scripts" / "lesson1_single_card.py"]
        done = run(script, "--data", tmp_path, *SHORT, folder=tmp_path, **proxies)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert_whole(tmp_path / "MNIST" / "raw")


# checkpoints


@pytest.mark.parametrize("command", [LAUNCH, TORCHRUN], ids=["launch", "torchrun"])
def test_a_full_disk_leaves_the_old_checkpoint_whole(command, tmp_path, mark):
    disk = tmp_path / "disk"
    with small_disk(disk, "1m") as inside:
        fill = f"cd {disk} && echo old > model.pth && head -c 2000000 /dev/zero > rest 2> /dev/null; exec \"$@\""
        there = [*inside, "sh", "-c", fill, "sh", "env", f"--chdir={ROOT}", *command]
        done = run(there, *SHORT, "--save", disk / "model.pth")
        left = run(inside, "sh", "-c", f"cat {disk}/model.pth; ls -A {disk}").stdout
    told = f"{disk}/model.pth was not saved, and is as it was: "
    assert done.returncode == 1 and done.stderr.startswith(f"{told}[Errno 28] No space left"), done.stderr
    assert left == "old\nmodel.pth\nrest\n"
    assert gone(mark, seconds=5)


def test_a_place_that_takes_no_file_is_told():
    done = run(LAUNCH[:3], "lesson1_single_card", *SHORT, "--save", "/proc/no/model.pth")
    assert done.returncode == 1 and done.stderr.startswith("/proc/no/model.pth was not saved, and is as it was: [Errno")


class Code:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_checkpoint_that_holds_code_is_refused(tmp_path):
    torch.save(Code(tmp_path / "it ran"), tmp_path / "model.pth")
    with pytest.raises(SystemExit, match="model.pth was not loaded: it holds more than weights, which could be code$"):
        load_model(build_model("linear"), str(tmp_path / "model.pth"))
    assert not (tmp_path / "it ran").exists()
    torch.load(tmp_path / "model.pth", weights_only=False)
    assert (tmp_path / "it ran").exists()  # so it could have run


@pytest.mark.parametrize("content", [{"other": torch.ones(1)}, [1, 2]])
def test_a_checkpoint_of_something_else_is_refused(content, tmp_path):
    torch.save(content, tmp_path / "model.pth")
    with pytest.raises(SystemExit, match="does not hold the weights of this model: "):
        load_model(build_model("linear"), str(tmp_path / "model.pth"))


# two at once


def test_two_launches_at_once_and_a_taken_port_do_no_harm(tmp_path):
    with socket.socket() as port, ThreadPoolExecutor(2) as pool:
        with contextlib.suppress(OSError):  # somebody else has it: that is as good
            port.bind(("127.0.0.1", 29500))  # torchrun's own choice
        one, other = pool.map(lambda seed: run(LAUNCH, *SHORT, "--save", tmp_path / "model.pth", "--seed", seed), "12")
    assert (one.returncode, other.returncode) == (0, 0), one.stderr + other.stderr
    load_model(build_model("linear"), str(tmp_path / "model.pth"))
    assert [path.name for path in tmp_path.iterdir()] == ["model.pth"]
