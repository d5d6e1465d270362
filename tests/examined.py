"""Scripts looked at by the doctor: on ranks forked in a moment, and what each is to hear, from its own comments."""

import atexit
import contextlib
import fcntl
import functools
import multiprocessing
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import pytest
from ranks import SERVER, meeting_point, torchrun_environment
from slow import slow

from ddp_lessons.doctor.hang import hangs
from ddp_lessons.doctor.journal import Run, read
from ddp_lessons.doctor.judge import findings, grade

PATIENTS = Path(__file__).parent / "patients"
FIXED_PORT = re.compile(r"\b[12]\d{4}\b")
MARK = re.compile(r"#.*?\b(DDP\d{3}(?:[ ,]+DDP\d{3})*)")


@functools.lru_cache(maxsize=64)
def examined(script: Path, *arguments: str, ranks: int = 2, limit: int | None = None, timeout: float = 300) -> Run:
    """Return what the doctor notes of a script, run in an empty folder; nothing of it is left running.

    Several tests may look at one run: of the same script, with the same arguments, there is only one.
    """
    folder = tempfile.TemporaryDirectory
    with alone_with_its_port(script), folder() as here, folder() as notes, meeting_point() as port:
        processes = []
        for rank in range(ranks):
            given = Path(notes), limit, str(script), arguments, here, torchrun_environment(rank, ranks, port)
            processes.append(SERVER.Process(target=as_rank, args=given))
        try:
            for process in processes:
                process.start()
            hang = until_ended(processes, Path(notes), time.monotonic() + timeout)
        finally:
            for process in processes:
                process.kill()
                process.join()
        run = read(Path(notes), ranks, script=str(script), hang=hang)
    failed = [(event["instrument"], event["error"]) for _, event in run.all("failed")]
    assert not failed, f"an instrument failed: {failed[:3]}"
    return run


@contextlib.contextmanager
def alone_with_its_port(script: Path):
    """Let only one script that names a port run on this machine: other clones' tests may want the same port."""
    with open(Path(tempfile.gettempdir(), "ddp_lessons_tests.lock"), "a") as lock:
        if FIXED_PORT.search(script.read_text()):
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        yield


def until_ended(processes: list, notes: Path, deadline: float) -> str:
    """Wait until all ranks have ended, or hang; return how they hang."""
    while any(process.is_alive() for process in processes):
        assert time.monotonic() < deadline, "not done"
        if hang := hangs(notes, len(processes)):
            return hang
        time.sleep(0.1)
    return ""


def as_rank(notes: Path, limit: int | None, script: str, arguments: tuple, here: str, environment: dict) -> None:
    """Be a rank that the doctor looks at, silently."""
    import numpy
    import torch

    from ddp_lessons.doctor.rank import watch

    os.chdir(here)
    os.environ.update(environment)
    torch.set_num_threads(1)
    torch.seed(), numpy.random.seed()  # a fresh process's generators differ, forked ones would not
    multiprocessing.set_start_method("fork", force=True)  # as outside of a forkserver, for loaders' workers
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    with contextlib.suppress(BaseException):
        watch(notes, limit, script, list(arguments))
    atexit._run_exitfuncs()  # which a forked process leaves out
    sys.stdout.flush()
    os._exit(0)


def expected(script: Path) -> list[tuple[str, int]]:
    """Return what a script is to hear, as (code, line): the codes in the comment behind each of its lines."""
    lines = enumerate(script.read_text().splitlines(), 1)
    marks = [(found.group(1), line) for line, text in lines if (found := MARK.search(text))]
    return sorted((code, line) for codes, line in marks for code in re.findall(r"DDP\d{3}", codes))


def cases(folder: Path) -> list:
    """Return the scripts in a folder as cases; quick are the first one for each code, and each third sound one."""
    found, shown, sound = [], set(), 0
    for script in sorted(folder.glob("*.py")):
        codes = {code for code, _ in expected(script)}
        quick = bool(codes - shown) if codes else sound % 3 == 0
        shown, sound = shown | codes, sound + (not codes)
        found.append((pytest.param if quick else slow)(script, id=script.stem))
    return found


def heard(run: Run) -> list[tuple[str, int | None]]:
    """Return the faults and suspects that were found, as (code, line)."""
    found = [one for one in findings(run) if grade(one) != "note"]
    return sorted((one.code, one.place and one.place[1]) for one in found)


def hears_what_it_should(script: Path, ranks: int = 2) -> None:
    """Assert that a script hears what its comments say; a sound one hears nothing, and came to its end."""
    sound, run = script.stem.startswith("sound"), examined(script, ranks=ranks)
    assert bool(expected(script)) is not sound
    assert heard(run) == expected(script), [one.text for one in run.found]
    if sound:
        assert {end["how"] for _, end in run.all("end")} <= {"done", "exit"} and not run.hang
        assert len(list(run.all("end"))) == ranks
