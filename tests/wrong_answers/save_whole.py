import os
import shutil
import subprocess
import tempfile


def in_place(content, path):
    """who writes into the file itself"""
    with open(path, "wb") as file:
        file.write(content)


def not_on_the_disk(content, path):
    """when the machine goes down, a file can have its name"""
    with open(f"{path}.partial", "wb") as file:
        file.write(content)
    os.replace(f"{path}.partial", path)


def old_deleted_first(content, path):
    """os.replace puts a file in the place of another"""
    with open(f"{path}.partial", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if os.path.exists(path):
        os.remove(path)
    os.rename(f"{path}.partial", path)


def copied_into_place(content, path):
    """2 ranks: who writes into the file itself"""
    with open(f"{path}.partial", "wb") as file:
        file.write(content)
    shutil.copyfile(f"{path}.partial", path)
    os.remove(f"{path}.partial")


def copied_and_kept(content, path):
    """2 ranks: os.replace gives a file another name"""
    with open(f"{path}.partial", "wb") as file:
        file.write(content)
    shutil.copyfile(f"{path}.partial", path)


def not_flushed(content, path):
    """2 ranks: os.fsync brings to the disk what the system has"""
    with open(f"{path}.partial", "wb") as file:
        file.write(content)
        os.fsync(file.fileno())
    os.replace(f"{path}.partial", path)


def on_the_disk_too_late(content, path):
    """2 ranks: os.fsync comes too late"""
    with open(f"{path}.partial", "wb") as file:
        file.write(content)
    os.replace(f"{path}.partial", path)
    with open(path, "rb") as file:
        os.fsync(file)


def elsewhere(content, path):
    """2 ranks: another folder can be another disk"""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    shutil.move(file.name, path)


def left_behind(content, path):
    """2 ranks: whatever fails, the writing or the renaming: take the temporary file away"""
    with open(f"{path}.partial", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.partial", path)


def swallowed(content, path):
    """2 ranks: who calls takes it for saved"""
    try:
        with open(f"{path}.partial", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.partial", path)
    except OSError:
        os.remove(f"{path}.partial")


def never_twice(content, path):
    """2 ranks: a killed run cannot clear away its temporary file"""
    with open(f"{path}.partial", "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.partial", path)


def renaming_unguarded(content, path):
    """2 ranks: whatever fails, the writing or the renaming: take the temporary file away"""
    try:
        with open(f"{path}.partial", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        os.remove(f"{path}.partial")
        raise
    os.replace(f"{path}.partial", path)


def unbuffered(content, path):
    """2 ranks: opened with `buffering=0`, a file writes what there is room for"""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        with open(f"{folder}/partial", "wb", buffering=0) as file:
            file.write(content)
            os.fsync(file.fileno())
        os.replace(f"{folder}/partial", path)


def cleared_away_twice(content, path):
    """2 ranks: an error while it clears away"""
    try:
        with open(f"{path}.partial", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.partial", path)
    except OSError:
        os.remove(f"{path}.partial")
        os.remove(f"{path}.partial")
        raise


def by_another_program(content, path):
    """2 ranks: Python hears nothing of it"""
    try:
        with open(f"{path}.partial", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        subprocess.run(["cp", f"{path}.partial", path], check=True)
    finally:
        os.remove(f"{path}.partial")


def as_text(content, path):
    """2 ranks: `content` is bytes"""
    with open(f"{path}.partial", "w") as file:
        file.write(content)
    os.replace(f"{path}.partial", path)
