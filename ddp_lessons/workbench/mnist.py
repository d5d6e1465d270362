"""MNIST on disk, whole and unpacked before ranks read it: then none of them has to unpack, mend or wait."""

import contextlib
import gzip
import hashlib
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

from ddp_lessons.workbench.scripts import ROOT, write_whole

OURS = ROOT / "data" / "MNIST" / "raw"
FILES = {  # md5 of the packed file, as torchvision.datasets.MNIST has it, and bytes of the unpacked one
    "train-images-idx3-ubyte": ("f68b3c2dcbeaaa9fbdd348bbdeb94873", 16 + 60000 * 784),
    "train-labels-idx1-ubyte": ("d53e105ee54ea40749a09fcbcd1e9432", 8 + 60000),
    "t10k-images-idx3-ubyte": ("9fb629c4189551a2d022fa330f9573f3", 16 + 10000 * 784),
    "t10k-labels-idx1-ubyte": ("ec29112dd5afa0611ce80d1b7f02629c", 8 + 10000),
}


def mend_mnist(folder: Path) -> None:
    """Make the MNIST in `folder` whole, from the archives of the course or from git, and say so where it was not.

    What neither has is left to the script, which downloads it. Raises OSError where `folder` cannot be written, and
    ValueError where it holds other data than MNIST, which is left as it is.
    """
    raw = folder / "MNIST" / "raw"
    for name, (md5, size) in FILES.items():
        unpacked, archive = raw / name, raw / f"{name}.gz"
        if raw != OURS and unpacked.is_file() and unpacked.stat().st_size == size:
            continue  # the reader's own, and torchvision looks at the archive only to unpack it
        if raw != OURS and unpacked.exists() and not archive.exists():
            raise ValueError(f"{unpacked} holds other data than MNIST")
        if not has_md5(archive, md5):
            mend_archive(archive, md5, size)
        if not archive.exists():
            unpacked.unlink(missing_ok=True)  # or torchvision would not download
        elif not holds(unpacked, archive):
            write_whole(unpacked, gzip.decompress(archive.read_bytes()))


def unpack_mnist() -> None:
    """Unpack the course's own MNIST, unless that was done; where it cannot be, whoever reads it will say so.

    It looks at sizes only: this comes before each start of ranks in cells, which takes a fifth of a second.
    """
    whole = [(OURS / name).is_file() and (OURS / name).stat().st_size == size for name, (_, size) in FILES.items()]
    if not all(whole):
        with contextlib.suppress(OSError, ValueError):
            mend_mnist(ROOT / "data")


def mend_archive(archive: Path, md5: str, size: int) -> None:
    """Put a good copy in the place of an archive that is missing or damaged; with none to be had, leave nothing."""
    what = "damaged" if archive.exists() else "missing"
    with contextlib.suppress(OSError, EOFError, zlib.error):
        if len(gzip.decompress(archive.read_bytes())) == size:
            raise ValueError(f"{archive} holds other data than MNIST")
    ours = OURS / archive.name
    packed = ours.read_bytes() if has_md5(ours, md5) else from_git(f"data/MNIST/raw/{archive.name}")
    if hashlib.md5(packed).hexdigest() == md5:
        archive.parent.mkdir(parents=True, exist_ok=True)
        write_whole(archive, packed)
        print(f"{archive} was {what}: taken from the repository")
    else:
        archive.unlink(missing_ok=True)
        print(f"{archive} is {what}, and the repository has no copy: it will be downloaded")


def holds(unpacked: Path, archive: Path) -> bool:
    """Tell whether a file is what an archive unpacks to, by the checksum and size at the archive's end."""
    content = unpacked.read_bytes() if unpacked.is_file() else b""
    return archive.read_bytes()[-8:] == struct.pack("<II", zlib.crc32(content), len(content))


def has_md5(path: Path, md5: str) -> bool:
    """Tell whether a file is there, with that content. (The md5 guards against accidents, not against forgery.)"""
    return path.is_file() and hashlib.md5(path.read_bytes()).hexdigest() == md5


def from_git(name: str) -> bytes:
    """Return a file of the project as the last commit has it, or nothing."""
    git = shutil.which("git")
    if not git:
        return b""
    command = [git, "cat-file", "blob", f"HEAD:{name}"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, timeout=60).stdout
    return b""
