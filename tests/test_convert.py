"""The exercises on converting a script: solutions pass, each mistake gets its own hint, and what cannot run is told."""

import json
import re
import shutil
from importlib import import_module
from itertools import combinations
from pathlib import Path

import pytest
from ranks import gone, run_script

from conftest import MODULES_WITH_ROOT
from ddp_lessons.workbench.exercises.convert import check_script, copy_script, judge, witness
from ddp_lessons.workbench.exercises.convert.judge import Case, close, verdict
from ddp_lessons.workbench.exercises.convert.mistakes import MISTAKES
from ddp_lessons.workbench.exercises.convert.seen import WEIGHTS, answer_of, seen
from ddp_lessons.workbench.scripts import ROOT, Refused

EXERCISES = ROOT / "notebooks" / "exercises"
HINTS = {name: list(hints) for name, hints in MISTAKES.items()}


def solutions() -> dict[str, str]:
    """Return the script in each fold of the notebook, by the name that is checked above it."""
    cells = json.loads((EXERCISES / "convert.ipynb").read_text())["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    return dict(re.findall(r'check_script\("(\w+)"\)\n.*?<details>.*?```python\n(.*?\n)```', text, re.DOTALL))


SOLUTIONS = solutions()


def changed(text: str, changes: dict[str, str]) -> str:
    """Return a text with some parts of it replaced, which must be there."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project folder with the given scripts and the data; `put` writes the reader's copy of one of them."""
    for module in MODULES_WITH_ROOT:
        monkeypatch.setattr(import_module(module), "ROOT", tmp_path)
    folder = tmp_path / "notebooks" / "exercises"
    shutil.copytree(EXERCISES / "single_card", folder / "single_card")
    (tmp_path / "data").symlink_to(ROOT / "data")

    def put(name, text):
        (folder / f"my_{name}.py").write_text(text)
        return folder / f"my_{name}.py"

    return put


@pytest.fixture
def judged(project, tmp_path):
    """Run a script on ranks that are up in no time, under the same witness, and return what is wrong, and the hint."""

    def judged(name, text, ranks):
        (tmp_path / "seen").mkdir()
        options = [str(tmp_path / "seen"), str(project(name, text)), "--save", str(tmp_path / "seen" / WEIGHTS)]
        printed = run_script(Path(witness.__file__), *options, folder=tmp_path, ranks=ranks)
        run = seen(tmp_path / "seen", "".join(printed).splitlines())
        return verdict(Case(name, (EXERCISES / "single_card" / f"{name}.py").read_text(), ROOT / "data", run, ranks))

    return judged


@pytest.mark.parametrize("ranks", [None, 2, 4])
@pytest.mark.parametrize("name", MISTAKES)
def test_a_solution_is_solved(name, ranks, project, capsys, mark):
    project(name, SOLUTIONS[name])
    check_script(name, ranks=[ranks])
    said = "alone: as before" if ranks is None else f"{ranks} ranks: the single card's weights and lines"
    assert capsys.readouterr().out.endswith(f"\n{said}\nsolved\n")
    assert gone(mark)


SHARE, SAMPLER = "args.batch_size // world_size", "DistributedSampler(train_set, world_size, rank"
EVERYTHING = {SAMPLER: "DistributedSampler(train_set, 1, 0"}
GROWN, LONG = {SHARE: "args.batch_size"}, {"lr=args.lr": "lr=args.lr * world_size"}
JOIN = '    dist.init_process_group("gloo")\n    return dist.get_rank(), dist.get_world_size()'
STEPS = [
    (EVERYTHING, 0),
    (EVERYTHING | GROWN, 0),
    (GROWN, 1),
    (LONG, 2),
    (GROWN | LONG, 3),
    ({"DDP(model) if dist.is_initialized() else model": "model"}, 4),
    ({JOIN: "    return 0, 1"}, judge.NOT_JOINED),
    ({"        if rank == 0:\n            print(": "        if True:\n            print("}, judge.ALL_PRINT),
    ({"    if rank == 0:\n        torch.save": "    if True:\n        torch.save"}, judge.ALL_SAVE),
    ({"    if dist.is_initialized():\n        dist.destroy_process_group()\n": ""}, judge.NOT_LEFT),
]
KEYS = ({"torch.save(model.": "torch.save(wrapped."}, judge.WRAPPER)
SUM, SUM_OF_LOSS = (f"    if dist.is_initialized():\n        dist.all_reduce({name})\n" for name in ("right", "loss"))
SHARE_OF_TEST, SIZE = "sampler=range(rank, len(dataset), world_size)", "right.item() / len(dataset)"
REPEAT = {SHARE_OF_TEST: "sampler=DistributedSampler(dataset, world_size, rank, shuffle=False)"}
TESTS_ALL = {SHARE_OF_TEST: "sampler=range(len(dataset))", SUM: ""}
LOSS = SUM_OF_LOSS + "    return loss.item() / len(dataset)"
PADDED = "    size = len(dataset) + -len(dataset) % world_size\n    images, labels = dataset"
WRONG = {
    "1_loop": [
        *STEPS, KEYS,
        ({", shuffle=False": ""}, 5),
        ({", shuffle=False": "", "        for images,": "        sampler.set_epoch(epoch)\n        for images,"}, 5),
        ({SAMPLER + ", shuffle=False)": "range(rank * 2048 // world_size, (rank + 1) * 2048 // world_size)"}, 6),
    ],
    "2_score": [
        *STEPS[1:6], KEYS,
        ({"        sampler.set_epoch(epoch)\n": ""}, 5),
        ({"rank, seed=args.seed": "rank, shuffle=False"}, 6),
        ({SUM: "", SIZE: f"right.item() / len({SHARE_OF_TEST[8:]})"}, 7),
        ({SUM: ""}, 7),
        ({SUM: f"    right /= len({SHARE_OF_TEST[8:]})\n{SUM}", SIZE: "right.item() / world_size"}, 8),
        (REPEAT, 9),
        (REPEAT | {SIZE: "right.item() / (len(dataset) + -len(dataset) % world_size)"}, 9),
        ({SHARE_OF_TEST: "sampler=range(rank, len(dataset) // world_size * world_size, world_size)",
          SIZE: "right.item() / (len(dataset) // world_size * world_size)"}, 10),
        (TESTS_ALL, judge.ALL_TEST),
        (TESTS_ALL | {"= score(": "= rank == 0 and score("}, judge.ALL_TEST),
    ],
    "3_early_stop": [
        *STEPS[1:6],
        ({"        sampler.set_epoch(epoch)\n": ""}, 5),
        ({LOSS: "    loss /= len(labels)\n    dist.broadcast(loss, 0)\n    return loss.item()"}, 6),
        ({LOSS: f"    loss /= len(labels)\n{SUM_OF_LOSS}    return loss.item() / world_size"}, 7),
        ({"    images, labels = dataset[rank::world_size]":
          f"{PADDED}[[i % len(dataset) for i in range(rank, size, world_size)]]",
          "loss.item() / len(dataset)": "loss.item() / size"}, 8),
        ({", drop_last=True": ""}, 9),
    ],
}  # fmt: skip
CASES = [(name, changes, hint) for name, wrong in WRONG.items() for changes, hint in wrong]
FAIL = {
    judge.STOPPED: [
        ("3_early_stop", {LOSS: "    return loss.item() / len(labels)"}),
        ("3_early_stop", {"        if waited == ": "        if rank == 0 and waited == "}),
    ],
    judge.APART: [
        ("3_early_stop", {"        loss = loss_on(": "        loss = 9 - epoch if rank else loss_on("}),
    ],
    judge.TOO_EARLY: [("3_early_stop", {"        dist.barrier()": "        pass"})],
}
BROKEN = [(name, changes, hint) for hint, cases in FAIL.items() for name, changes in cases]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(("name", "changes", "hint"), CASES)
def test_a_wrong_answer_gets_its_own_hint(name, changes, hint, ranks, judged):
    hint = HINTS[name][hint] if isinstance(hint, int) else hint
    wrong, said = judged(name, changed(SOLUTIONS[name], changes), ranks)
    assert wrong and said == hint.replace("WORLD", str(ranks))


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", MISTAKES)
def test_known_mistakes_differ_from_the_answer_and_from_each_other(name, ranks):
    text = (EXERCISES / "single_card" / f"{name}.py").read_text()
    found = [(None, answer_of(text, ROOT / "data"))]
    for hint, changes in MISTAKES[name].items():
        found += [(hint, answer_of(text, ROOT / "data", ranks, tuple(change.items()))) for change in changes]
    for one, other in combinations(found, 2):
        alike = close(one[1].weights, other[1].weights) and one[1].lines == other[1].lines
        assert not alike or one[0] == other[0]


@pytest.mark.parametrize("name", WRONG)
def test_every_known_mistake_is_tried(name):
    assert {hint for _, hint in WRONG[name] if isinstance(hint, int)} == set(range(len(HINTS[name])))


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(("name", "changes", "hint"), BROKEN)
def test_a_run_that_hangs_or_fails_gets_its_own_hint(name, changes, hint, ranks, project, capsys, mark):
    project(name, changed(SOLUTIONS[name], changes))
    check_script(name, ranks=[ranks], stuck=4)
    assert re.search(rf"\nnot yet: on {ranks} ranks, .*\nhint: {re.escape(hint)}\n$", capsys.readouterr().out)
    assert gone(mark)


@pytest.mark.parametrize("name", MISTAKES)
def test_an_unchanged_copy_is_not_solved_yet_and_a_copy_is_made_once(name, project, capsys, tmp_path):
    check_script(name)
    copy_script(name)
    copy = tmp_path / "notebooks" / "exercises" / f"my_{name}.py"
    assert copy.read_text() == (EXERCISES / "single_card" / f"{name}.py").read_text()
    check_script(name)
    copy.write_text(copy.read_text() + "\n# a note")
    copy_script(name)
    check_script(name)
    assert copy.read_text().endswith("# a note")
    assert [line for line in capsys.readouterr().out.splitlines() if "copy" not in line] == 3 * ["not solved yet"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "my_1_loop.py is empty; delete it, and copy_script makes it anew"),
        ("x = 1\nif x\n", "my_1_loop.py, line 2: expected ':'"),
        ("print('hello')", "alone, nothing was trained"),
        ("import os\nos.kill(os.getpid(), 9)", "alone, the script was ended by SIGKILL"),
        ("import time\nprint('ready')\ntime.sleep(300)",
         "alone, nothing printed or computed for 2 s (stuck= allows more): it is at line 3; all its processes were ended"),
        ("raise ValueError('no such luck')", "alone, the script failed with exit code 1; its traceback is above"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_told_in_a_sentence(text, told, project, capsys, mark):
    project("1_loop", text)
    check_script("1_loop", ranks=[None], stuck=2)
    said = capsys.readouterr().out
    assert said.endswith(f"not yet: {told}\n") and "witness" not in said
    assert gone(mark)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"        torch.save(model.state_dict(), args.save)\n": ""}, "the file that --save names was not written"),
        ({"        torch.save(model.state_dict(), args.save)\n": "        open(args.save, 'w').close()\n"},
         "the saved file does not hold weights alone: "),
        ({"            print(": "            str(", "        print(": "        str("}, "nothing was printed"),
        ({"{epoch + 1}: done": "{epoch + 1}: over"}, "`epoch 1: done` is right, and it printed `epoch 1: over`"),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_in_a_sentence(changes, told, judged):
    wrong, hint = judged("1_loop", changed(SOLUTIONS["1_loop"], changes), 2)
    assert wrong.startswith(told) and not hint and "\n" not in wrong


def test_a_script_that_needs_a_group_fails_alone_with_a_hint(project, capsys):
    project("1_loop", changed(SOLUTIONS["1_loop"], {'    if "RANK" not in os.environ:\n        return 0, 1\n': ""}))
    check_script("1_loop")
    said = "not yet: alone, the script failed with exit code 1; its traceback is above"
    assert capsys.readouterr().out.endswith(f"{said}\nhint: {judge.NO_GROUP}\n")


@pytest.mark.parametrize("call", [check_script, copy_script])
def test_another_name_is_told_with_those_there_are(call, project):
    with pytest.raises(Refused, match="^there is no script 4_more to convert; there are 1_loop, 2_score,"):
        call("4_more")
