"""One run in a folder."""

import fcntl
import os
import socket
import time


def lock_folder(folder: str, seconds: int = 10) -> None:
    """Keep other runs out of `folder` while this process lives: the system lets go when it ends, however it ends.

    If another run is there, wait so many seconds for it to end, then exit with a sentence that names its process.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        lock = os.open(f"{folder}/lock", os.O_RDWR | os.O_CREAT)  # stays open to the end
    except OSError as error:
        raise SystemExit(f"no checkpoints can be kept in {folder!r}: {error}") from None
    for attempt in range(seconds * 10):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            owner = os.pread(lock, 99, 0).decode()
        except OSError as error:
            raise SystemExit(f"{folder} cannot be locked, give a folder on another file system: {error}") from None
        if attempt == 0:
            print(f"{folder} is in use by process {owner}: waiting up to {seconds} s for its end", flush=True)
        time.sleep(0.1)
    else:
        raise SystemExit(f"{folder} is in use by process {owner}: end that, or give another folder")
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()} on {socket.gethostname()}".encode(), 0)
