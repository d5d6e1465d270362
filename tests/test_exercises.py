"""Exercises, in a real notebook on real ranks: the solution passes its check, each wrong answer fails with its hint."""

import re
from collections import defaultdict
from itertools import product

import pytest
import torch
from answers import IMPORTS, solutions, wrong_answers
from notebook import opened
from slow import slow

from ddp_lessons.lesson6_score_and_resume import ResumableSampler
from ddp_lessons.workbench.exercises.all import EXERCISES
from ddp_lessons.workbench.exercises.rest import rest_of_epoch

SOLUTIONS, WRONG = solutions(), wrong_answers()
SIZES = [
    (slow if size == 2 else pytest.param)(name, size)
    for name in SOLUTIONS
    for size in sorted({4, 2, *EXERCISES[name].ranks}, reverse=True)
]
FACTS = r"right is|is right, as| failed: |calls |after 3 s, |a part has|bytes rank 0 sent to 3 ranks|ha(s|ve) ended"
FACTS += "|forward returned None|backward stood still|without a wait"  # what came out, what is right
FACTS += "|after the last gradient was ready|has no finish|is torch's own wrapper"
STUB = '''
def {name}({given}):
    """Return something."""
    {last}
'''


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("notebook")) as notebook:
        notebook.run(IMPORTS)
        notebook.run("from ddp_lessons.workbench.exercises import check as module")
        yield notebook


def tried(notebook, cell, exercise, sizes, timeout=10):
    """Return what is printed of an attempt, on so many ranks."""
    notebook.run(cell)
    assert notebook.succeeded, notebook.error
    said = notebook.run(f"module.TIMEOUT = {timeout}\ncheck({exercise}, ranks={sizes})")
    assert notebook.succeeded, notebook.error
    print(said)  # for the report of a failure
    return said


def is_slow(wrong, size: int) -> bool:
    """Tell whether a case takes long, and is like another: more ranks, the same hint, or a further stuck one."""
    first_of_its_hint = next(one for one in WRONG if (one.exercise, one.hint) == (wrong.exercise, wrong.hint))
    first_stuck = next(one for one in WRONG if one.stuck)
    if size > min(wrong.sizes) or wrong is not first_of_its_hint:
        return True
    return wrong.stuck and wrong is not first_stuck


def test_each_exercise_has_a_solution_and_three_wrong_answers_with_hints_of_their_own():
    hints = defaultdict(set)
    for wrong in WRONG:
        if {2, 4} <= set(wrong.sizes):
            hints[wrong.exercise].add(wrong.hint)
    assert set(SOLUTIONS) == set(hints) == set(EXERCISES)
    assert min(map(len, hints.values())) >= 3


@pytest.mark.parametrize(("name", "size"), SIZES)
def test_the_solution_passes(notebook, name, size):
    where = f": on {size} ranks" if size > 1 else ""
    assert tried(notebook, SOLUTIONS[name], name, (size,)) == f"solved{where}\n"


@pytest.mark.parametrize(
    ("wrong", "size"),
    [
        (slow if is_slow(w, size) else pytest.param)(w, size, id=f"{w.exercise}-{w.mistake}-{size}")
        for w in WRONG
        for size in w.sizes
    ],
)
def test_a_wrong_answer_fails_with_its_own_hint(notebook, wrong, size):
    notebook.run(wrong.before)
    said = tried(notebook, wrong.cell, wrong.exercise, (size,), timeout=3 if wrong.stuck else 10)
    verdict, _, hint = said[said.index("not yet: ") :].partition("\nhint: ")
    assert hint.startswith(wrong.hint) and hint.count("\n") == 1
    assert verdict.count("\n") == 0 and re.search(FACTS, verdict)
    assert size == 1 or verdict.startswith(f"not yet: on {size} ranks, ")


def test_checks_start_with_two_ranks_and_go_on_with_four(notebook):
    notebook.run(SOLUTIONS["my_broadcast"])
    assert notebook.run("module.TIMEOUT = 10\ncheck(my_broadcast)") == "solved: on 2 and on 4 ranks\n"


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_the_rest_of_an_epoch_is_what_the_lessons_sampler_gives(world_size):
    for samples, turns in product((12, 13, 23), range(4)):
        sampler = ResumableSampler(range(samples), world_size, 0, drop_last=True)
        order = torch.randperm(samples, generator=torch.Generator().manual_seed(0)).tolist()
        for sampler.rank in range(world_size):
            sampler.start = turns * world_size
            assert list(sampler) == rest_of_epoch(order, sampler.start, sampler.rank, world_size)


def test_an_unknown_mistake_is_told_without_a_hint(notebook):
    said = tried(notebook, "def place_of(rank, cards):\n    return [7, 7]", "place_of", (2,))
    assert said == "not yet: on 2 ranks, place_of(0, 8) gave [7, 7], right is [0, 0]\n"
    said = tried(notebook, "def my_broadcast(tensor, source):\n    tensor.fill_(float('nan'))", "my_broadcast", (2,))
    assert said.startswith("not yet: on 2 ranks, rank 0 had [10, 11, 12], and has [nan, nan, nan] after my_broadcast(")


def test_a_handle_may_be_waited_for_through_its_future(notebook):
    right = SOLUTIONS["BucketedDDP"].replace("handle.wait()", "handle.get_future().wait()")
    assert tried(notebook, right, "BucketedDDP", (2,)) == "solved: on 2 ranks\n"


def test_a_rank_may_be_asked_for_by_an_imported_name(notebook):
    notebook.run("from torch.distributed import get_rank")
    right = SOLUTIONS["mask_of"].replace("dist.get_rank()", "get_rank()")
    assert tried(notebook, right, "mask_of", (2,)) == "solved: on 2 ranks\n"


def test_a_file_may_be_synced_by_an_imported_name(notebook):
    notebook.run("from os import fsync, replace")
    right = SOLUTIONS["save_whole"].replace("os.fsync(", "fsync(").replace("os.replace(", "replace(")
    assert tried(notebook, right, "save_whole", (1,)) == "solved\n"


def test_a_wrong_gradient_of_unknown_cause_is_told_without_a_hint(notebook):
    wrong = SOLUTIONS["BucketedDDP"].replace("flat / dist.get_world_size()", "flat / (dist.get_world_size() + 1)")
    said = tried(notebook, wrong, "BucketedDDP", (2,))
    assert said.startswith("not yet: on 2 ranks, in step 1 the gradient of ")
    assert said.endswith(" is right, as in the full batch\n")


@pytest.mark.parametrize("last", ["...", "return ..."])
def test_a_stub_is_not_solved_yet(notebook, last):
    said = tried(notebook, STUB.format(name="place_of", given="rank, cards", last=last), "place_of", (2,))
    assert said == "not solved yet\n"


def test_a_class_is_a_stub_until_all_of_it_is_written(notebook):
    whole = "class MyDDP(nn.Module):\n    def __init__(self, model):\n        super().__init__()\n        {}\n"
    whole += "    def forward(self, *inputs):\n        ..."
    assert tried(notebook, whole.format("..."), "MyDDP", (2,)) == "not solved yet\n"
    said = tried(notebook, whole.format("self.module = model"), "MyDDP", (2,))
    assert said == "not solved yet: forward still to be written\n"


@pytest.mark.parametrize("given", ["None", "'word'", "object()", "print", "{1: 2}", "(x for x in [0, 0])", "[0, 'no']"])
def test_an_answer_of_another_type_is_shown(notebook, given):
    said = tried(notebook, f"def place_of(rank, cards):\n    return {given}", "place_of", (2,))
    assert re.fullmatch(r"not yet: on 2 ranks, place_of\(0, 8\) gave .+, right is \[0, 0\]\n", said)


def test_an_attempt_that_raises_shows_its_line_and_what(notebook):
    said = tried(notebook, "# mine\n\ndef place_of(rank, cards):\n    return rank / 0", "place_of", (2,))
    assert "----> 4     return rank / 0" in said and "File " not in said
    assert said.endswith("\nnot yet: on 2 ranks, ranks 0 and 1 failed: ZeroDivisionError: division by zero\n")


def test_helpers_and_imports_of_other_cells_come_along(notebook):
    notebook.run("import math as m\n\ndef whole(a, b):\n    return m.floor(a / b)")
    said = tried(notebook, "def place_of(rank, cards):\n    return whole(rank, cards), rank % cards", "place_of", (2,))
    assert said == "solved: on 2 ranks\n"


@pytest.mark.parametrize(
    ("before", "why"),
    [("NUMBER = 3", "a script cannot see NUMBER, which the notebook holds: .*"), ("", "nothing is called NUMBER")],
)
def test_what_the_ranks_cannot_see_is_one_sentence(notebook, before, why):
    notebook.run("%reset_selective -f ^NUMBER$\n" + before)
    notebook.run("def place_of(rank, cards):\n    return NUMBER")
    assert notebook.run("check(place_of)") == "" and len(notebook.error) == 1
    assert re.fullmatch(f"Refused: the ranks cannot run place_of: {why}", notebook.error[0])


@pytest.mark.parametrize(
    ("attempt", "why"),
    [(what, "is no exercise: keep the name in the stub, after `def` or `class`") for what in ("print", "lambda: 3")]
    + [(what, "is no function: give check the function itself, by its name, without quotes") for what in ("3", "'f'")],
)
def test_what_is_no_exercise_is_refused_in_one_sentence(notebook, attempt, why):
    assert notebook.run(f"check({attempt})") == "" and len(notebook.error) == 1
    assert re.fullmatch(f"Refused: \\S+ {why}", notebook.error[0])


def test_an_attempt_that_kills_its_process(notebook):
    cell = "import os\ndef place_of(rank, cards):\n    os._exit(3) if dist.get_rank() else None\n    return rank, cards"
    assert tried(notebook, cell, "place_of", (2,)) == "not yet: on 2 ranks, rank 1 has ended\n"


def test_an_endless_attempt_ends(notebook):
    said = tried(notebook, "# mine\n\ndef place_of(rank, cards):\n    while True: pass", "place_of", (2,), timeout=3)
    assert said == f"not yet: on 2 ranks, after 3 s, ranks 0 and 1 are at cell {notebook.number - 1} line 4\n"
