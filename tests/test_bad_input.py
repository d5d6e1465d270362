"""What a reader can get wrong, and what a machine can: one sentence from rank 0, and nothing lost."""

import contextlib
import os
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from commands import LAUNCH, ROOT, SHORT, TORCHRUN, run
from ranks import gone, run_script
from slow import slow, slow_but
from small_disk import small_disk

from ddp_lessons.blocks.checkpoint import load_model
from ddp_lessons.blocks.model import build_model

TOO_FEW = "epochs, batch size and samples are numbers from 1, for each rank a sample; --save is a file"
FROM_HERE = "--data", str(ROOT / "data")
BAD = {
    "--epochs 0": TOO_FEW,
    "--samples 1": TOO_FEW,  # for two ranks
    "--save /dev/null": TOO_FEW,
    "--epocs 2": "unrecognized arguments: --epocs 2",
}


@pytest.mark.parametrize("options", slow_but(["--samples 1"], list(BAD)))
def test_bad_options_are_one_sentence(options, mark):
    done = run(LAUNCH, *options.split())
    assert done.returncode == 1 and done.stderr == f"{BAD[options]}.\n" and "epoch 1" not in done.stdout
    assert gone(mark)


UNEVEN = "epochs, batch size and samples are numbers from 1; --global-batch is at most all samples, and an equal "
UNEVEN += "share for each rank; --lr is above 0; --save is a file"


@pytest.mark.slow
def test_lesson_5_s_bad_options_are_one_sentence(mark):
    done = run([*LAUNCH[:3], "lesson5_same_answer", "--ranks", "2"], "--global-batch", "63")
    assert done.returncode == 1 and done.stderr == f"{UNEVEN}.\n" and "epoch 1" not in done.stdout
    assert gone(mark)


@pytest.mark.parametrize("options", BAD)
def test_lesson_4_does_not_train_on_bad_options(options, tmp_path):
    with pytest.raises(AssertionError, match="exit code 2"):
        run_script(ROOT / "scripts" / "lesson4_ddp.py", *FROM_HERE, *options.split(), folder=tmp_path, ranks=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options", ["--global-batch 0", "--global-batch 66 --samples 65", "--warmup-epochs -1", "--batch-size 0",
                "--samples 31", "--save /dev/null", "--lr nan", "--lr -0.1"],
)  # fmt: skip
def test_lesson_5_does_not_train_on_bad_options(options, tmp_path):
    script = ROOT / "scripts" / "lesson5_same_answer.py"
    with pytest.raises(AssertionError, match="exit code 2"):
        run_script(script, *FROM_HERE, *options.split(), folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options", ["--checkpoint-every 0", "--keep 0", "--epochs 0", "--batch-size 0", "--lr nan", "--lr 0",
                "--samples 0", "--dropout 1", "--dropout -0.1", "--save /dev/null", "--resume always",
                "--checkpoint-every 1.5"],
)  # fmt: skip
def test_lesson_6_does_not_train_on_bad_options(options, tmp_path):
    script = ROOT / "scripts" / "lesson6_score_and_resume.py"
    with pytest.raises(AssertionError, match="exit code 2"):
        run_script(script, *FROM_HERE, *options.split(), folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", ["--epocs 2", slow("--samples 1")])
def test_under_torchrun_rank_0_alone_says_it_first(options, mark):
    done = run(TORCHRUN, *options.split())
    assert done.returncode == 1 and done.stderr.startswith(f"lesson4_ddp.py: error: {BAD[options]}\n")
    assert done.stderr.count(BAD[options]) == 1 and gone(mark)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("lesson9", "there is no script lesson9; write_script makes one of a lesson, and there are "),
        ("lesson4_ddp --ranks 0", "0 ranks cannot be started: their number is a whole one from 1 to 64."),
        ("lesson4_ddp --ranks two", "start.py train: error: argument --ranks: invalid int value: 'two'"),
        ("lesson4_ddp --data /proc/no", "no MNIST can be put into '/proc/no': "),
    ],
)
def test_what_cannot_be_launched_is_told_at_once(arguments, told):
    done = run(LAUNCH[:3], *arguments.split())
    assert done.returncode in (1, 2) and done.stdout == ""
    assert done.stderr.startswith(told) and len(done.stderr.splitlines()) == 1


# checkpoints


@pytest.mark.parametrize("command", [pytest.param(LAUNCH, id="launch"), slow(TORCHRUN, id="torchrun")])
def test_a_full_disk_leaves_the_old_checkpoint_whole(command, tmp_path, mark):
    disk = tmp_path / "disk"
    with small_disk(disk, "1m") as inside:
        fill = f'cd {disk} && echo old > model.pth && head -c 2000000 /dev/zero > rest 2> /dev/null; exec "$@"'
        there = [*inside, "sh", "-c", fill, "sh", "env", f"--chdir={ROOT}", *command]
        done = run(there, *SHORT, "--save", disk / "model.pth")
        left = run(inside, "sh", "-c", f"cat {disk}/model.pth; ls -A {disk}").stdout
    told = f"{disk}/model.pth was not saved, and is as it was: "
    assert done.returncode == 1 and done.stderr.startswith(f"{told}[Errno 28] No space left"), done.stderr
    assert left == "old\nmodel.pth\nrest\n"
    assert gone(mark)


@pytest.mark.slow
def test_a_place_that_takes_no_file_is_told():
    done = run(LAUNCH[:3], "lesson1_single_card", *SHORT, "--save", "/proc/no/model.pth")
    assert done.returncode == 1 and done.stderr.startswith("/proc/no/model.pth was not saved, and is as it was: [Errno")


class Code:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_checkpoint_that_holds_code_is_refused(tmp_path):
    torch.save(Code(tmp_path / "it ran"), tmp_path / "model.pth")
    with pytest.raises(SystemExit, match="model.pth was not loaded: it holds more than weights, which could be code$"):
        load_model(build_model("linear"), str(tmp_path / "model.pth"))
    assert not (tmp_path / "it ran").exists()
    torch.load(tmp_path / "model.pth", weights_only=False)
    assert (tmp_path / "it ran").exists()  # so it could have run


@pytest.mark.parametrize("content", [{"other": torch.ones(1)}, [1, 2]])
def test_a_checkpoint_of_something_else_is_refused(content, tmp_path):
    torch.save(content, tmp_path / "model.pth")
    with pytest.raises(SystemExit, match="does not hold the weights of this model: "):
        load_model(build_model("linear"), str(tmp_path / "model.pth"))


# two at once


@pytest.mark.slow
def test_two_launches_at_once_and_a_taken_port_do_no_harm(tmp_path):
    with socket.socket() as port, ThreadPoolExecutor(2) as pool:
        with contextlib.suppress(OSError):  # somebody else has it: that is as good
            port.bind(("127.0.0.1", 29500))  # torchrun's own choice
        one, other = pool.map(lambda seed: run(LAUNCH, *SHORT, "--save", tmp_path / "model.pth", "--seed", seed), "12")
    assert (one.returncode, other.returncode) == (0, 0), one.stderr + other.stderr
    load_model(build_model("linear"), str(tmp_path / "model.pth"))
    assert [path.name for path in tmp_path.iterdir()] == ["model.pth"]
