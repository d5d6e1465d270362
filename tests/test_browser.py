"""The course as a reader meets it: Jupyter Lab in a browser. Skipped where there is none, but not in CI.

Pictures of all states go to the folder that LESSON_PICTURES names, else to pytest's own. Look at them.
"""

import re
import uuid

import pytest
from ranks import gone, processes_with

LAST_LINES = {
    "lesson1_single_card": r"^epoch 5: test loss 0\.\d+, accuracy 9[01]\.\d+%, trained in [\d.]+ s$",
    "lesson4_ddp": r"^2 ranks, 64 steps: 2 faults, 0 suspects, 0 notes\.$",
}
SMALL_LESSON = [
    "%load_ext ddp_lessons",
    "from ddp_lessons import lesson2_ranks\nfrom ddp_lessons.workbench import launch, show, write_script",
    "show(lesson2_ranks.main)",
    "%%ranks 2\n1 + 1",
    "write_script(lesson2_ranks)",
    "launch(lesson2_ranks, ranks=2)",
]

MISMATCH = """
dist.init_process_group("gloo")
print("joined")
if dist.get_rank() == 0:
    dist.broadcast(torch.ones(1), src=1)
else:
    dist.barrier()"""
# what the cell says then: this one line knows the words
WHERE = "rank 0 waits in broadcast, cell line 5; rank 1 waits in barrier, cell line 7".replace(" ", r"\s")  # folded


def test_what_a_lesson_is_made_of_runs(opened):
    notebook = opened("small_lesson", *SMALL_LESSON)
    notebook.run_all()
    assert not notebook.kinds & {"error", "stderr"}
    assert notebook.seen(2).startswith('def main() -> None:\n    """')
    assert notebook.seen(3) == "rank 0: 2\nrank 1: 2"
    assert re.match(r"scripts/lesson2_ranks\.py: \d+ lines, made of .*main$", notebook.seen(4))
    assert re.search(r"^rank 1: barrier +waited [\d.]+ s for the last of 2$", notebook.seen(5), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LAST_LINES)
def test_a_lesson_runs_whole(opened, lesson):
    notebook = opened(lesson)
    notebook.run_all(1200)
    notebook.pictures_of_all()
    assert not notebook.kinds & {"error", "stderr"}
    assert notebook.numbers == list(range(1, len(notebook.cells) + 1))
    seen = "\n".join(map(notebook.seen, range(len(notebook.cells))))
    assert re.search(LAST_LINES[lesson], seen, re.MULTILINE)


def test_the_stop_button_ends_ranks_that_hang_and_keeps_the_notebook(opened):
    hang = f"%%ranks 2{MISMATCH}"
    notebook = opened("stop", "%load_ext ddp_lessons\nkept = 7", hang, "print(kept)", "%%ranks\n1 + 1")
    notebook.run(0)
    notebook.start(1)
    notebook.until(lambda: "joined" in notebook.seen(1))
    notebook.picture("hangs")
    notebook.page.get_by_role("button", name="Interrupt the kernel").click()
    notebook.until(lambda: notebook.ended(1))
    notebook.picture("stopped")
    assert re.fullmatch(rf"rank 0: joined\nrank 1: joined\nInterrupted, while {WHERE}[^.]+\.", notebook.seen(1))
    notebook.run(2)
    notebook.run(3)
    assert notebook.seen(2) == "7" and notebook.seen(3) == "rank 0: 2\nrank 1: 2"


@pytest.mark.slow
def test_ranks_that_hang_come_back_in_their_timeout_and_say_where_they_were(opened):
    notebook = opened("timeout", "%load_ext ddp_lessons", f"%%ranks --timeout 3{MISMATCH}")
    notebook.run(0)
    notebook.run(1)
    assert re.search(WHERE, notebook.seen(1))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["restart", "shutdown"])
def test_ranks_that_hang_end_with_the_kernel(opened, way):
    mark = uuid.uuid4().hex  # in the environment of the ranks, and not in their kernel's when it began
    notebook = opened(way, f"%load_ext ddp_lessons\n%env RANKS_OF_A_TEST={mark}", f"%%ranks --timeout 300{MISMATCH}")
    notebook.run(0)
    notebook.start(1)
    notebook.until(lambda: "joined" in notebook.seen(1))
    assert len(processes_with(mark)) == 4  # two fork servers, two ranks
    if way == "restart":
        notebook.choose("Kernel", "Restart Kernel…")
        notebook.picture("asked")
        notebook.page.locator(".jp-Dialog").get_by_role("button", name="Confirm Kernel Restart").click()
    else:
        notebook.choose("Kernel", "Shut Down Kernel")
    assert gone(mark)
