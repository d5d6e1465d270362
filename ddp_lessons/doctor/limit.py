"""The end of a script at its limit of optimizer steps."""

import os
import sys
import time

from ddp_lessons.doctor.journal import Journal, last_event

PATIENCE = 10  # seconds that a rank at its limit stays for the others, which may still hear from it


class LimitReached(BaseException):
    """The script has taken as many steps as it was to."""


def end_at_limit(journal: Journal) -> None:
    """End this process at once, when all ranks have come as far: a group that is only half there could hang."""
    journal.note("end", how="limit")
    deadline, size = time.monotonic() + PATIENCE, int(os.environ["WORLD_SIZE"])
    files = [journal.folder / f"{rank}.jsonl" for rank in range(size)]
    while time.monotonic() < deadline and not all(last_event(file).get("what") in ("end", "left") for file in files):
        time.sleep(0.02)
    sys.stdout.flush()
    os._exit(0)
