"""However a launch ends, it says why in one sentence, and no process is left."""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import psutil
import pytest
from ranks import gone
from slow import slow, slow_but

from ddp_lessons.running.processes import environment
from ddp_lessons.workbench.launch import LaunchError, launch

MISMATCH = """
    import sys
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    print("ready %d\\n" % dist.get_rank(), end="")  # in one piece
    x = torch.ones(4)
    if dist.get_rank() == 0:
        dist.broadcast(x, src=1)
    else:
        {}
"""
STUBBORN = """
    import os, signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(f"ready {os.environ.get('RANK')}\\n", end="")  # in one piece
    time.sleep(300)
"""
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
ENDED = list(product("12", SIGNALS))


@pytest.mark.parametrize(
    ("instead", "rank_1"),
    [
        ("dist.barrier()", "waits in barrier, line 10"),
        slow("import time; time.sleep(300)", "is at line 10"),
    ],
)
def test_ranks_that_are_stuck_are_told_with_their_lines(instead, rank_1, script, mark):
    with pytest.raises(LaunchError) as told:
        launch(script("stuck", MISMATCH.format(instead)), ranks=2, stuck=3)
    places = f"rank 0 waits in broadcast, line 8; rank 1 {rank_1}"
    sentence = f"nothing printed or computed for 3 s (stuck= allows more): {places}; all its processes were ended"
    assert str(told.value) == sentence
    assert gone(mark)


@pytest.mark.slow
def test_a_rank_that_has_left_is_told(script, mark):
    leave = "import os\nimport torch.distributed as dist\nos.environ['RANK'] == '1' and exit()\n"
    with pytest.raises(LaunchError, match="rank 0 waits in init_process_group, line 4; rank 1 has ended; all"):
        launch(script("leave", leave + "dist.init_process_group('gloo')"), ranks=2, stuck=3)
    assert gone(mark)


@pytest.mark.parametrize("ranks", [None, slow(2)])
def test_ranks_that_compute_in_silence_are_not_stuck(ranks, script):
    busy = "import time\nend = time.monotonic() + 7\nwhile time.monotonic() < end: pass\nprint('done\\n', end='')"
    assert launch(script("busy", busy), ranks=ranks, stuck=3) == ["done"] * (ranks or 1)


def test_the_traceback_of_the_rank_that_failed_comes_first_and_torchruns_own_words_never(script, mark, capsys):
    with pytest.raises(LaunchError, match="^rank 1 failed with exit code 1; its traceback is above$"):
        launch(script("broken", MISMATCH.format("raise ValueError('no such luck')")), ranks=2)
    said = capsys.readouterr().out.partition("ready")[2]
    assert "ValueError: no such luck\n" in said and "ChildFailedError" not in said and "elastic" not in said
    assert re.search(r"no such luck\n(rank 0 then said: .*\n)?$", said)
    assert gone(mark)


def test_of_ranks_that_fail_within_a_moment_the_first_is_named(script):
    late = "import os, time\ntime.sleep(0.03 * (os.environ['RANK'] == '0'))\nraise ValueError(os.environ['RANK'])"
    start = "import time\nfrom pathlib import Path\nPath(__file__ + os.environ['RANK']).touch()\n"
    meet = "while not all(Path(__file__ + rank).exists() for rank in '01'): time.sleep(0.001)\n"
    with pytest.raises(LaunchError, match="^rank 1 failed with exit code 1; its traceback is above$"):
        launch(script("both", "import os\n" + start + meet + late), ranks=2)


@pytest.mark.parametrize("victim", ["rank", "torchrun"])
def test_a_kill_is_told_and_leaves_nothing(victim, script, mark, when_printed):
    def kill():
        ranks = [p for p in psutil.process_iter() if mark in (seen := environment(p)).values() and "RANK" in seen]
        os.kill(ranks[0].pid if victim == "rank" else ranks[0].ppid(), signal.SIGKILL)

    when_printed("ready 1", kill)
    with pytest.raises(LaunchError, match=rf"^{victim}( \d)? was ended by SIGKILL$"):
        launch(script("stubborn", STUBBORN), ranks=2)
    assert gone(mark)


@pytest.mark.parametrize("ranks, number", slow_but([("1", signal.SIGKILL), ("2", signal.SIGTERM)], ENDED))
def test_a_signal_to_the_launcher_ends_ranks_that_ignore_it(ranks, number, script, mark, terminal):
    script("stubborn", STUBBORN)
    process = terminal("stubborn", "--ranks", ranks)
    assert any(f"ready {int(ranks) - 1}" in line for line in process.stdout)
    process.send_signal(number)
    assert process.wait(timeout=120) == (-9 if number == signal.SIGKILL else 128 + number)
    said = process.stderr.read()
    assert said == "" if number == signal.SIGKILL else re.fullmatch(r"interrupted: .*rank 0 .*\.\n", said)
    assert gone(mark)


@pytest.mark.parametrize("ranks", [None, slow(2)])
def test_what_a_script_leaves_behind_is_no_reason_to_wait(ranks, script, mark):
    leaves = "import subprocess\nsubprocess.Popen(['env', '-i', 'setsid', 'sleep', '120'])\nprint('done\\n', end='')"
    start = time.monotonic()
    assert launch(script("leaves", leaves), ranks=ranks) == ["done"] * (ranks or 1)
    assert time.monotonic() - start < 120


@pytest.mark.parametrize("interrupts", [2, slow(20)])
def test_interrupts_at_any_moment_leave_nothing(interrupts, script, mark, terminal):
    script("stubborn", STUBBORN)

    def interrupted_after(seconds):
        process = terminal("stubborn")
        process.stdout.readline()  # the command: now torchrun starts
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        return process.wait(timeout=120), process.stderr.read()

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(interrupted_after, [2 / interrupts * i for i in range(interrupts)]))
    assert {code for code, _ in ends} == {130}
    assert not [said for _, said in ends if said and not re.fullmatch(r"interrupted: .*\.\n", said)]
    assert gone(mark)
