"""The exercises on converting a script: solutions pass, each mistake gets its own hint, and what cannot run is told."""

import re
import shutil

import pytest
from converted import EXERCISES, GIVEN, SOLUTIONS, changed, judged
from ranks import gone
from slow import slow, slow_but

from ddp_lessons.workbench.exercises.convert import check_script, copy_script, judge
from ddp_lessons.workbench.scripts import ROOT, Refused


@pytest.fixture
def project(script, tmp_path):
    """A project folder with the given scripts and the data; `put` writes the reader's copy of one of them."""
    folder = tmp_path / "notebooks" / "exercises"
    shutil.copytree(EXERCISES / "single_card", folder / "single_card")
    (tmp_path / "data").symlink_to(ROOT / "data")

    def put(name, text):
        (folder / f"my_{name}.py").write_bytes(text if isinstance(text, bytes) else text.encode())

    return put


@pytest.mark.parametrize("ranks", [None, 2, slow(4)])
@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_solution_has_nothing_wrong(name, ranks, tmp_path):
    assert judged(tmp_path, name, SOLUTIONS[name], ranks) == ("", "")


@pytest.mark.parametrize(
    "name, ranks",
    [
        ("3_early_stop", 2),
        *(slow(name, ranks) for name in SOLUTIONS for ranks in (2, 4)),
    ],
)
def test_a_solution_is_solved(name, ranks, project, capsys, mark):
    project(name, SOLUTIONS[name])
    check_script(name, ranks=[ranks])
    assert capsys.readouterr().out.endswith(f"\n{ranks} ranks: the single card's weights, and lines, once\nsolved\n")
    assert gone(mark)


BROKEN = [
    ("        dist.all_reduce(loss)\n", "        loss *= len(dataset) / len(labels)\n", judge.STOPPED),
    ("        loss = loss_on(", "        loss = 9 - epoch if rank else loss_on(", judge.APART),
    ("        dist.barrier()", "        pass", judge.TOO_EARLY),
    ("deepcopy(model.", "deepcopy(wrapped.", judge.WRAPPER),
]


@pytest.mark.parametrize("ranks", [2, slow(4)])
@pytest.mark.parametrize(("old", "new", "hint"), [BROKEN[0], *(slow(*one) for one in BROKEN[1:])])
def test_a_run_that_hangs_or_fails_gets_its_own_hint(old, new, hint, ranks, project, capsys, mark):
    project("3_early_stop", changed(SOLUTIONS["3_early_stop"], {old: new}))
    check_script("3_early_stop", ranks=[ranks], stuck=4)
    assert re.search(rf"\nnot yet: on {ranks} ranks, .*\nhint: {re.escape(hint)}\n$", capsys.readouterr().out)
    assert gone(mark)


@pytest.mark.parametrize("name", slow_but(["2_score"], list(GIVEN)))
def test_an_unchanged_copy_is_not_solved_yet_and_a_copy_is_made_once(name, project, capsys, tmp_path):
    check_script(name)
    assert capsys.readouterr().out == f'not solved yet: copy_script("{name}") makes your copy\n'
    copy_script(name)
    copy = tmp_path / "notebooks" / "exercises" / f"my_{name}.py"
    assert copy.read_text() == GIVEN[name]
    check_script(name)
    copy.write_text(copy.read_text() + "\n# a note")
    copy_script(name)
    check_script(name)
    assert copy.read_text().endswith("# a note")
    said = capsys.readouterr().out
    assert said.count("not solved yet\n") == 2 and "$" not in said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "my_1_loop.py is empty; delete it, and copy_script makes it anew"),
        ("x = 1\nif x\n", "my_1_loop.py, line 2: expected ':'"),
        ("print('hello')", "alone, nothing was trained"),
        (b"\xff", "my_1_loop.py is no Python: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        ("import os\nos.kill(os.getpid(), 9)", "alone, the script was ended by SIGKILL"),
        ("import time\nprint('ready')\ntime.sleep(300)",
         "alone, nothing printed or computed for 2 s (stuck= allows more): it is at line 3; all its processes were "
         + "ended"),
        ("raise ValueError('no such luck')", "alone, the script failed with exit code 1; its traceback is above"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_told_in_a_sentence(text, told, project, capsys, mark):
    project("1_loop", text)
    check_script("1_loop", ranks=[None], stuck=2)
    said = capsys.readouterr().out
    assert said.endswith(f"not yet: {told}\n") and "witness" not in said
    assert gone(mark)


@pytest.mark.slow
def test_a_known_mistake_is_told_alone_too(tmp_path):
    shuffles = changed(SOLUTIONS["1_loop"], {", shuffle=False": ""})
    wrong, hint = judged(tmp_path, "1_loop", shuffles, None)
    assert wrong == "the weights are not what they were" and hint.startswith("the given script does not shuffle")


def test_a_script_that_needs_a_group_fails_alone_with_a_hint(project, capsys):
    project("1_loop", changed(SOLUTIONS["1_loop"], {'    if "RANK" not in os.environ:\n        return 0, 1\n': ""}))
    check_script("1_loop")
    said = "not yet: alone, the script failed with exit code 1; its traceback is above"
    assert capsys.readouterr().out.endswith(f"{said}\nhint: {judge.NO_GROUP}\n")


@pytest.mark.parametrize("call", [check_script, copy_script])
def test_another_name_is_told_with_those_there_are(call, project):
    with pytest.raises(Refused, match="^there is no script 4_more to convert; there are 1_loop, 2_score,"):
        call("4_more")
