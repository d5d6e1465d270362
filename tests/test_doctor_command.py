"""The doctor as it is typed: what it says, its exit codes, and that it ends whatever it has started."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points

import pytest
from commands import ROOT, run
from examined import examined
from ranks import gone
from slow import slow

from ddp_lessons.doctor import __main__ as command_line
from ddp_lessons.doctor.__main__ import main, parse

DOCTOR = [sys.executable, "-m", "ddp_lessons.doctor"]
JOIN = "import torch.distributed as dist\ndist.init_process_group('gloo')\nrank = dist.get_rank()\n"
LEAVE = "\ndist.destroy_process_group()\n"
FAULTY = ROOT / "tests" / "patients" / "learning" / "loss_cut_off.py"
SOUND = ROOT / "tests" / "patients" / "styles" / "sound_accumulation.py"


@pytest.fixture
def doctor(tmp_path):
    """Have the doctor look at the text of a script, in a folder of its own; return its end."""

    def look(text, *options, arguments=()):
        (tmp_path / "train.py").write_text(text)
        mark = f"DOCTOR_TEST_{os.getpid()}_{time.monotonic_ns()}"
        ended = run(DOCTOR, *options, "train.py", *arguments, folder=tmp_path, MARK_OF_TEST=mark)
        assert gone(mark), "something is left running"
        assert "Traceback" not in ended.stderr + ended.stdout
        return ended

    return look


# what it says, and its exit codes


def test_a_fault_has_a_place_a_code_a_sentence_a_remedy_and_a_lesson():
    ended = run(DOCTOR, FAULTY.relative_to(ROOT))
    line = 1 + FAULTY.read_text().splitlines().index("    optimizer.step()  # DDP701")
    first, mend, learn, last, looked = ended.stdout.splitlines()
    assert first.startswith(f"{FAULTY.relative_to(ROOT)}:{line}: DDP701 fault: at all 5 steps every gradient was")
    assert mend.startswith("    mend:  ") and learn == "    learn: notebooks/lesson1_single_card.ipynb"
    assert last == "2 ranks, 5 steps: 1 fault, 0 suspects, 0 notes."
    assert looked.startswith("Looked at: 1 wrapped model, 1 optimizer, 7 calls among ranks, 0 passes over data; ")
    assert (ended.returncode, ended.stderr) == (1, "")


@pytest.mark.slow
def test_a_clean_script_hears_what_was_looked_at():
    ended = run(DOCTOR, "--ranks", 3, "--limit-steps", 2, SOUND)
    last, looked = ended.stdout.splitlines()
    assert last == "3 ranks, 2 steps, then ended as asked: 0 faults, 0 suspects, 0 notes."
    assert "3 passes over data" in looked and "weights at 2 steps" in looked
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.fixture(scope="module")
def seen():
    """What is noted of the faulty script, on ranks that are up at once."""
    return examined(FAULTY)


@pytest.fixture
def reported(seen, monkeypatch, capsys):
    """Report on that run, with some options; return the exit code and what is printed."""
    monkeypatch.setattr(command_line, "examine", lambda *_: (seen, ""))

    def reported(*options):
        code = command_line.report_on(parse([*options, str(FAULTY)]))
        return code, capsys.readouterr().out

    return reported


def test_json_says_the_same(reported):
    code, out = reported("--json")
    report = json.loads(out)
    assert (report["ranks"], report["steps"], report["failed"], code) == (2, 5, None, 1)
    (found,) = report["findings"]
    assert (found["code"], found["grade"], found["file"]) == ("DDP701", "fault", str(FAULTY))


@pytest.mark.parametrize("options, code", [(["--ignore", "DDP7"], 0), (["--select", "ddp701,DDP7"], 1), ([], 1)])
def test_codes_are_chosen_by_how_they_begin(reported, options, code):
    ended, out = reported(*options)
    assert (("DDP701" in out), ended) == (bool(code), code)


def test_a_suspect_alone_is_no_failure(reported, monkeypatch):
    seen = examined(FAULTY.with_name("rate_zero.py"), limit=4)
    monkeypatch.setattr(command_line, "examine", lambda *_: (seen, ""))
    code, out = reported()
    assert ": 0 faults, 1 suspect, 0 notes." in out and code == 0


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["no_such.py"], "there is no script no_such.py"),
        (["--ranks", "1", FAULTY], "what is wrong among ranks shows on 2 to 64"),
        (["--ranks", "two", FAULTY], "invalid int value"),
        (["--limit-steps", "0", FAULTY], "numbers above 0"),
        (["--timeout", "-1", FAULTY], "numbers above 0"),
        (["--ignore", "DDP9", FAULTY], "no code begins with 'DDP9'"),
        ([], "there is no script: give one"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(capsys, options, sentence):
    with pytest.raises(SystemExit) as end:
        parse(list(map(str, options)))
    out, err = capsys.readouterr()
    assert sentence in err.splitlines()[-1]
    assert (end.value.code, out) == (2, "")


ODD = f"""
import subprocess, sys
import helper  # which lies beside the script
{JOIN}
subprocess.Popen(['sleep', '600'], start_new_session=True)
if rank == 0:
    open('got', 'w').write(' '.join(sys.argv[1:]))
    print('loss 0.5')
    for _ in range(10):
        print('x' * 1_000_000)
sys.argv[:] = []
{LEAVE}"""


@pytest.mark.parametrize("shown", [True, slow(False)])
def test_a_script_has_its_options_and_its_folder_may_print_much_and_leaves_nothing_running(doctor, tmp_path, shown):
    (tmp_path / "helper.py").write_text("")
    ended = doctor(ODD, *["--show-output"] * shown, arguments=["--epochs", "1", "--json", "x y"])
    assert (ended.returncode, (tmp_path / "got").read_text()) == (0, "--epochs 1 --json x y")
    assert ("loss 0.5\n" in ended.stdout, len(ended.stdout) > 10**7) == (shown, shown)


# scripts that end badly, or not at all


def test_a_script_that_hangs_is_ended_and_the_line_named(doctor):
    ended = doctor(f"{JOIN}if rank == 1:\n    dist.barrier()\nelse:\n    dist.broadcast_object_list([1], 0){LEAVE}")
    assert "it hung and was ended: rank 0" in ended.stdout.splitlines()[-1]
    assert "line 7" in ended.stdout and "line 5" in ended.stdout
    assert ended.returncode == 1


def test_a_script_that_crashes_on_a_rank_gives_the_reason(doctor):
    ended = doctor(f"{JOIN}if rank == 1:\n    raise ValueError('no such file')\ndist.barrier(){LEAVE}")
    assert ended.stdout.splitlines()[-1].endswith("rank 1 failed: ValueError: no such file, train.py:5")
    assert (ended.returncode, "fault:" in ended.stdout) == (2, False)


@pytest.mark.slow
def test_a_script_that_exits_with_a_text_gives_it_once(doctor):
    ended = doctor(f"import sys\n{JOIN}if rank == 1:\n    sys.exit('no such folder')\ndist.barrier(){LEAVE}")
    assert ended.stdout.splitlines()[-1].endswith("rank 1 failed with exit code 1: no such folder")
    assert ended.returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("text, reason", [("def (:\n", "SyntaxError"), ("import no_such", "ModuleNotFoundError")])
def test_a_script_that_cannot_run_gives_the_reason(doctor, text, reason):
    ended = doctor(text)
    assert reason in ended.stdout.splitlines()[-1]
    assert ended.returncode == 2


def test_a_script_that_is_killed_says_by_what(doctor):
    ended = doctor(f"import os, signal\n{JOIN}if rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL){LEAVE}")
    assert "was ended by SIGKILL" in ended.stdout.splitlines()[-1]
    assert ended.returncode == 2


@pytest.mark.slow
def test_an_endless_script_is_ended_at_its_time_out(doctor):
    ended = doctor(f"{JOIN}while True: pass{LEAVE}", "--timeout", "12")
    assert "not done after 12 s" in ended.stdout.splitlines()[-1]
    assert ended.returncode == 2


def test_a_long_training_ends_at_its_limit_on_all_ranks(doctor, tmp_path):
    text = SOUND.read_text().replace("range(2)", "range(10**6)") + "open('after', 'w')"
    ended = doctor(text, "--limit-steps", "7")
    assert ended.stdout.startswith("2 ranks, 7 steps, then ended as asked")
    assert (ended.returncode, (tmp_path / "after").exists()) == (0, False)


@pytest.mark.parametrize("number", [signal.SIGINT, slow(signal.SIGTERM)])
def test_ctrl_c_ends_it_with_all_it_has_started(tmp_path, number):
    (tmp_path / "train.py").write_text(f"{JOIN}open(f'rank{{rank}}', 'w').close()\nwhile True: pass")
    mark = f"DOCTOR_TEST_{os.getpid()}_{time.monotonic_ns()}"
    env = os.environ | {"PYTHONPATH": str(ROOT), "MARK_OF_TEST": mark}
    command = [*DOCTOR, "train.py"]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 300
        while not all((tmp_path / f"rank{rank}").exists() for rank in range(2)):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.1)
        process.send_signal(number)
        time.sleep(0.5)
        process.send_signal(number)  # an impatient reader's second one changes nothing
        _, said = process.communicate(timeout=300)
    assert gone(mark), "something is left running"
    assert (said, process.returncode) == ("interrupted: all processes were ended\n", 128 + number)


def test_whoever_reads_the_report_may_go_away():
    no_ranks = "import sys, ddp_lessons.doctor.__main__ as doctor; from ddp_lessons.doctor.journal import Run; "
    no_ranks += "doctor.examine = lambda *_: (Run({0: []}), ''); doctor.findings = lambda _: []; "
    no_ranks += "sys.exit(doctor.main())"
    command = f'{sys.executable} -c "{no_ranks}" {FAULTY} | true; echo ${{PIPESTATUS[0]}}'
    ended = run(["bash", "-c", command])
    assert (ended.stdout, ended.stderr) == ("141\n", "")


@pytest.mark.slow
def test_a_script_that_catches_everything_ends_at_its_limit_all_the_same(doctor):
    caught = "try:\n                optimizer.step()\n            except BaseException:\n                pass"
    text = SOUND.read_text().replace("optimizer.step()", caught)
    assert "except BaseException" in text
    assert doctor(text.replace("range(2)", "range(10**6)"), "--limit-steps", "3").stdout.startswith("2 ranks, 4 steps")


def test_it_has_a_name_of_its_own():
    assert {command.load() for command in entry_points(group="console_scripts", name="ddp-doctor")} == {main}
