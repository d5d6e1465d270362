"""MNIST that is missing or damaged is made whole, or rank 0 says what is missing."""

import gzip
import hashlib
import http.server
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from commands import LAUNCH, ROOT, SHORT, TORCHRUN, run
from ranks import gone
from torchvision.datasets import MNIST

from ddp_lessons.workbench.mnist import FILES, mend_mnist

RAW = ROOT / "data" / "MNIST" / "raw"
NO_NETWORK = dict.fromkeys(["http_proxy", "https_proxy"], "http://127.0.0.1:9")


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
        content = (raw / name).read_bytes()
        assert len(content) == size and content == gzip.decompress((raw / f"{name}.gz").read_bytes())


@pytest.mark.parametrize("how", ["missing", "truncated", "wrong", "half unpacked"])
def test_a_damaged_archive_is_mended_from_the_repository(how, tmp_path, capsys):
    raw = tmp_path / "MNIST" / "raw"
    damage(raw, how)
    mend_mnist(tmp_path)
    was = {"truncated": "damaged", "wrong": "damaged"}.get(how, how)
    told = f"{raw}/train-labels-idx1-ubyte.gz was {was}: taken from the repository\n"
    assert capsys.readouterr().out == ("" if how == "half unpacked" else told)
    assert_whole(raw)


def test_data_other_than_mnist_is_left_as_it_is(tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    other = raw / "train-images-idx3-ubyte.gz"
    other.write_bytes(gzip.compress(bytes(FILES[other.stem][1])))
    before = other.read_bytes()
    with pytest.raises(ValueError, match="train-images-idx3-ubyte.gz holds other data than MNIST$"):
        mend_mnist(tmp_path)
    other.rename(raw / "train-images-idx3-ubyte")
    with pytest.raises(ValueError, match="train-images-idx3-ubyte holds other data than MNIST$"):
        mend_mnist(tmp_path)
    assert [path.read_bytes() for path in raw.iterdir()] == [before]


@pytest.mark.slow
def test_launch_mends_the_archives_first(tmp_path):
    damage(tmp_path / "MNIST" / "raw", "wrong")
    done = run(LAUNCH[:3], "lesson1_single_card", "--data", tmp_path, "--save", tmp_path / "model.pth", *SHORT)
    assert done.returncode == 0 and "was damaged: taken from the repository\n" in done.stdout, done.stderr


def test_the_repositorys_own_archive_is_mended_from_git(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    subprocess.run(["git", "clone", "-q", ROOT, tmp_path / "clone"], check=True, timeout=600)
    raw = tmp_path / "clone" / "data" / "MNIST" / "raw"
    (raw / "t10k-images-idx3-ubyte.gz").write_bytes(b"broken")
    (raw / "t10k-labels-idx1-ubyte").write_bytes(bytes(8 + 10000))  # the size is right, and the rest is lost
    mend = "from ddp_lessons.workbench.mnist import *; mend_mnist(ROOT / 'data')"
    done = run([sys.executable, "-c", mend], folder=tmp_path, PYTHONPATH=str(tmp_path / "clone"))
    assert "t10k-images-idx3-ubyte.gz was damaged: taken from the repository\n" in done.stdout, done.stderr
    assert_whole(raw)


def test_ranks_of_a_notebook_start_with_it_unpacked(tmp_path):
    shutil.copytree(ROOT / "ddp_lessons", tmp_path / "ddp_lessons")
    shutil.copytree(ROOT / "data", tmp_path / "data", ignore=shutil.ignore_patterns("*-ubyte"))
    call = "from ddp_lessons.workbench import on_ranks; print(on_ranks(1, max, 3, 4))"
    done = run([sys.executable, "-c", call], folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.stdout == "[4]\n", done.stderr
    assert_whole(tmp_path / "data" / "MNIST" / "raw")


@pytest.mark.slow
def test_without_a_network_rank_0_says_what_is_missing(tmp_path, mark):
    done = run(TORCHRUN, "--data", tmp_path, **NO_NETWORK)
    told = f"no MNIST in {str(tmp_path)!r} (Error downloading train-images-idx3-ubyte.gz): empty it, or"
    assert done.returncode == 1 and done.stderr.startswith(told) and done.stderr.count(told) == 1
    assert gone(mark)


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
