"""Real ranks in a tenth of a second: forked from a server that has imported torch and not yet computed anything."""

import contextlib
import io
import multiprocessing
import os
import pickle
import runpy
import sys
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import wait
from pathlib import Path

import torch
import torch.distributed as dist

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch", "torch._dynamo", "torchvision", "IPython", "pytest"])
LOOPBACK = "127.0.0.1"
SOON = 30  # seconds in which a process that was told to end has done so; what is left behind stays for longer
HANG = 300  # seconds after which something hangs; less would fail where the machine has much else to do


def run_ranks(world_size: int, function: Callable, *args, timeout: float = HANG) -> list:
    """Return what the importable `function(rank, world_size, *args)` returns on each rank of a gloo group."""
    with meeting_point() as port:
        return run_all([(in_group, rank, world_size, port, function, args) for rank in range(world_size)], timeout)


def run_script(path: Path, *options: str, folder: Path, ranks: int | None = None, timeout: float = HANG) -> list[str]:
    """Return what each rank prints of a script run in `folder` as torchrun would, or plain where `ranks` is None."""
    if ranks is None:
        return run_all([(as_script, path, options, folder, {})], timeout)
    with meeting_point() as port:
        environments = [torchrun_environment(rank, ranks, port) for rank in range(ranks)]
        return run_all([(as_script, path, options, folder, environment) for environment in environments], timeout)


def run_all(calls: list[tuple], timeout: float = HANG) -> list:
    """Return the result of each `(function, *args)`, each in a process of its own; none of them stays alive.

    Raises AssertionError with the traceback of the first call that fails, or when `timeout` seconds are over.
    """
    pipes, processes = zip(*map(start, calls), strict=True)
    try:
        results = collect(pipes, time.monotonic() + timeout)
        for process in processes:
            process.join(timeout=HANG)
        assert [process.exitcode for process in processes] == [0] * len(calls)
        return results
    finally:
        for process in processes:
            process.kill()
            process.join()


def start(call: tuple):
    """Start a call; return the pipe that its result will come through, and its process."""
    here, there = SERVER.Pipe(duplex=False)
    process = SERVER.Process(target=answer, args=(there, *call), daemon=True)
    process.start()
    there.close()
    return here, process


def answer(pipe, function: Callable, *args) -> None:
    """Send the result of a call, or its traceback; on one thread, since ranks share the cores."""
    torch.set_num_threads(1)
    try:
        outcome = True, function(*args)
    except BaseException:  # noqa: BLE001 (whatever it is, the test is to hear of it)
        outcome = False, traceback.format_exc()
    pipe.send_bytes(pickle.dumps(outcome))


def collect(pipes: tuple, deadline: float) -> list:
    """Return what comes through each pipe."""
    results = {}
    while len(results) < len(pipes):
        waiting = [pipe for pipe in pipes if pipe not in results]
        ready = wait(waiting, timeout=deadline - time.monotonic())
        assert ready, f"no answer from rank {', '.join(str(pipes.index(pipe)) for pipe in waiting)}"
        for pipe in ready:
            good, results[pipe] = pickle.loads(pipe.recv_bytes())
            assert good, f"rank {pipes.index(pipe)} failed:\n{results[pipe]}"
    return [results[pipe] for pipe in pipes]


@contextlib.contextmanager
def meeting_point():
    """Serve a store on loopback, as torchrun does; give its port, which nobody else can take in between."""
    store = dist.TCPStore(LOOPBACK, 0, is_master=True, wait_for_workers=False)
    yield store.port


def in_group(rank: int, world_size: int, port: int, function: Callable, args: tuple) -> object:
    """Call `function` inside a process group."""
    store = dist.TCPStore(LOOPBACK, port, is_master=False, timeout=timedelta(seconds=HANG))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world_size, timeout=timedelta(seconds=HANG))
    result = function(rank, world_size, *args)
    dist.barrier()  # a rank that leaves at once would break the others' connecting
    dist.destroy_process_group()
    return result


def torchrun_environment(rank: int, ranks: int, port: int) -> dict[str, str]:
    """Return what torchrun tells each rank of one machine."""
    return {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": LOOPBACK, "MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "True",
    }  # fmt: skip


def as_script(path: Path, options: tuple[str, ...], folder: Path, environment: dict[str, str]) -> str:
    """Run a script as the main module, where `ddp_lessons` cannot be imported; return what it prints."""
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv = [str(path), *options]
    sys.modules["ddp_lessons"] = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            assert not end.code, f"exit code {end.code}"
    return printed.getvalue()


def processes_with(mark: str) -> list[str]:
    """Return the command lines of the living processes that were started with `mark` in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is not ours
            if mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_text().replace("\0", " "))
    return found


def gone(mark: str, but: int = 0) -> bool:
    """Tell whether all processes with `mark` in their environment, but so many, have ended, or do so soon."""
    deadline = time.monotonic() + SOON
    while len(left := processes_with(mark)) > but:
        if time.monotonic() > deadline:
            print("still alive:", *left, sep="\n")
            return False
        time.sleep(0.1)
    return True
