"""Writes small wheels; a stub project takes this file as its build backend, so that pip needs no network for it."""

import zipfile
from pathlib import Path


def write_wheel(folder, name, files, version="1.0", requires=()):
    """Write a wheel of these files, name to text, into the folder; gives its file name. METADATA is unpacked first."""
    info = f"{name}-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Provides-Extra: dev"]
    metadata += [f"Requires-Dist: {required}" for required in requires]
    tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {f"{info}/METADATA": "\n".join(metadata) + "\n", **files, f"{info}/WHEEL": tags}
    record = "".join(f"{path},,{len(text)}\n" for path, text in files.items()) + f"{info}/RECORD,,\n"
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / wheel, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


def build_editable(folder, config_settings=None, metadata_directory=None):
    """What `pip install -e .` asks of a build backend."""
    return write_wheel(folder, "stub", {"stub.pth": str(Path.cwd())}, requires=['tiny ; extra == "dev"'])
