"""The course as a reader meets it: Jupyter Lab in a browser. Skipped where there is none, but not in CI.

Pictures of all states go to the folder that LESSON_PICTURES names, else to pytest's own. Look at them.
"""

import os
import re
import shutil
import uuid
from pathlib import Path

import pytest
from lab import Notebook, running_lab, write_notebook
from ranks import gone, processes_with

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
SCREEN = {"width": 1280, "height": 1000}

LAST_LINES = {
    "lesson1_single_card": r"^epoch 5: test loss 0\.\d+, accuracy 9[01]\.\d+%, trained in [\d.]+ s$",
    "lesson4_ddp": r"^rank 0: torch\.float64, momentum 0\.0: within 1e-12: True$",
}

MISMATCH = """
dist.init_process_group("gloo")
print("joined")
if dist.get_rank() == 0:
    dist.broadcast(torch.ones(1), src=1)
else:
    dist.barrier()"""
# what the cell says then: this one line knows the words
WHERE = "rank 0 waits in broadcast, cell line 5; rank 1 waits in barrier, cell line 7".replace(" ", r"\s")  # folded


@pytest.fixture(scope="module")
def browser():
    """Chromium, without a window."""
    if CHROMIUM is None or sync_playwright is None:
        lacks = "the Python package playwright" if CHROMIUM else "Chromium (on Debian: apt install chromium)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"to drive Jupyter Lab in a browser takes {lacks}")
    with sync_playwright() as playwright:
        as_root = os.geteuid() == 0  # whom Chromium refuses its sandbox
        yield playwright.chromium.launch(executable_path=CHROMIUM, chromium_sandbox=not as_root)


@pytest.fixture(scope="module")
def course(browser, tmp_path_factory):
    """A folder with a copy of the course, and the Lab that serves it."""
    folder = tmp_path_factory.mktemp("course")
    with running_lab(folder) as address_of:
        yield folder, address_of


@pytest.fixture
def opened(browser, course, tmp_path):
    """Open a notebook of the course, or a new one of the given cells; its kernel is shut down in the end."""
    folder, address_of = course
    pictures = Path(os.environ.get("LESSON_PICTURES", tmp_path))
    pictures.mkdir(parents=True, exist_ok=True)
    notebooks = []

    def opened(name: str, *sources: str) -> Notebook:
        if sources:
            write_notebook(folder / "notebooks" / f"{name}.ipynb", *sources)
        page = browser.new_page(viewport=SCREEN)
        notebooks.append(Notebook(page, address_of(f"notebooks/{name}.ipynb"), pictures))
        notebooks[-1].picture("opened")
        return notebooks[-1]

    yield opened
    for notebook in notebooks:
        notebook.picture("end")
        notebook.shut_down()
    for context in browser.contexts:
        context.close()


@pytest.mark.parametrize("lesson", LAST_LINES)
def test_a_lesson_runs_whole(opened, lesson):
    notebook = opened(lesson)
    notebook.run_all(600)
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
    notebook.until(lambda: "joined" in notebook.seen(1), 60)
    notebook.picture("hangs")
    notebook.page.get_by_role("button", name="Interrupt the kernel").click()
    notebook.until(lambda: notebook.ended(1), 10)
    notebook.picture("stopped")
    assert re.fullmatch(rf"rank 0: joined\nrank 1: joined\nInterrupted, while {WHERE}[^.]+\.", notebook.seen(1))
    notebook.run(2)
    notebook.run(3)
    assert notebook.seen(2) == "7" and notebook.seen(3) == "rank 0: 2\nrank 1: 2"


def test_ranks_that_hang_come_back_in_their_timeout_and_say_where_they_were(opened):
    notebook = opened("timeout", "%load_ext ddp_lessons", f"%%ranks --timeout 3{MISMATCH}")
    notebook.run(0)
    notebook.run(1)
    assert re.search(WHERE, notebook.seen(1))


@pytest.mark.parametrize("way", ["restart", "shutdown"])
def test_ranks_that_hang_end_with_the_kernel(opened, way):
    mark = uuid.uuid4().hex  # in the environment of the ranks, and not in their kernel's when it began
    notebook = opened(way, f"%load_ext ddp_lessons\n%env RANKS_OF_A_TEST={mark}", f"%%ranks --timeout 300{MISMATCH}")
    notebook.run(0)
    notebook.start(1)
    notebook.until(lambda: "joined" in notebook.seen(1), 60)
    assert len(processes_with(mark)) == 2
    if way == "restart":
        notebook.choose("Kernel", "Restart Kernel…")
        notebook.picture("asked")
        notebook.page.locator(".jp-Dialog").get_by_role("button", name="Confirm Kernel Restart").click()
    else:
        notebook.choose("Kernel", "Shut Down Kernel")
    assert gone(mark, seconds=5)
