"""Every picture in Jupyter Lab: moved with the keyboard alone, light and dark, and still there without a kernel."""

import json

import pytest
from lab import SECONDS, STATE
from playwright.sync_api import expect
from ranks import run_ranks
from slow import slow
from stub_project import ROOT

from ddp_lessons.workbench.step_record import record_steps

# a cell that shows the picture, with all of its controls
PICTURES = {
    "sampler": "from ddp_lessons.workbench.pictures.sampler import SamplerExplorer\nSamplerExplorer(11, 4)",
    "ranks_map": "from ddp_lessons.workbench.pictures.ranks_map import RanksMap\nRanksMap(2, 4, 3)",
    "ring": "from ddp_lessons.workbench.pictures.ring import RingAllReduce\nRingAllReduce(4, 3)",
    "shares": "from ddp_lessons.workbench.pictures.shares import UnequalShares\nUnequalShares(3, 2)",
    "killed_run": "from ddp_lessons.workbench.pictures.killed_run import KilledRun\nKilledRun(4, 2)",
    "ddp_step": """import json
from pathlib import Path
from ddp_lessons.workbench.pictures.ddp_step import DDPStep
DDPStep(json.loads(Path("RECORDS").read_text()))""",
}
KEYS = {  # and where each takes a control
    "Home": lambda control: control.min,
    "ArrowRight": lambda control: min(control.value + 1, control.max),
    "End": lambda control: control.max,
    "Space": lambda control: not control.value,
}
STATUS = "p[role=status]"
CONTROLS = ":is([role=slider], input[type=checkbox])"
FOCUSED = "controls => controls.indexOf(document.activeElement)"
THEME = "theme => jupyterapp.commands.execute('apputils:change-theme', {theme: `JupyterLab ${theme}`})"
SAVE = "() => jupyterapp.commands.execute('docmanager:save')"
OPEN_WITHOUT_KERNEL = """path => jupyterapp.commands.execute(
    "docmanager:open", {path, kernelPreference: {shouldStart: false, canStart: false, autoStartDefault: false}})"""
STILLS = ".jp-OutputArea-output img"


def on_rank(rank, world_size):
    return record_steps(folder=str(ROOT / "data"))


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The cells, with a file of steps that two ranks have taken."""
    path = tmp_path_factory.mktemp("records") / "records.json"
    path.write_text(json.dumps(run_ranks(2, on_rank)))
    return {name: cell.replace("RECORDS", str(path)) for name, cell in PICTURES.items()}


def picture_of(cell: str):
    """Return the picture that a cell shows, of our own: what the page should say."""
    *statements, last = cell.splitlines()
    names = {}
    exec("\n".join(statements), names)  # noqa: S102 (our own cells, above)
    return eval(last, names)


class Shown:
    """A picture in a cell of an open notebook."""

    def __init__(self, notebook, number: int):
        self.notebook, self.page = notebook, notebook.page
        cell = self.page.locator(".jp-Notebook .jp-CodeCell").nth(number)
        self.status, self.controls = cell.locator(STATUS), cell.locator(CONTROLS)

    def says(self, words: str) -> None:
        """Wait until it says so, and nothing else."""
        self.notebook.until(lambda: [" ".join(text.split()) for text in self.status.all_inner_texts()] == [words])

    def focus(self, control: int) -> None:
        """Go to a control with the tab key."""
        for _ in range(4):
            if self.controls.evaluate_all(FOCUSED) == control:
                return
            self.page.keyboard.press("Tab")
        pytest.fail(f"the tab key does not get to control {control}")


@pytest.mark.parametrize("theme", ["Light", slow("Dark")])
def test_every_control_moves_by_keyboard_and_the_page_says_what_is_seen(opened, course, cells, theme):
    name = f"pictures-{theme}"
    notebook = opened(name, *cells.values())
    notebook.page.evaluate(THEME, theme)
    notebook.run_all()
    assert not notebook.page.locator(STILLS).first.is_visible()
    for number, cell in enumerate(cells.values()):
        try_every_control(Shown(notebook, number), picture_of(cell))
    assert notebook.kinds == {"display_data"}
    notebook.page.evaluate(SAVE)
    notebook.pictures_of_all()
    notebook.shut_down()
    wait_for_stills(notebook.page, course, name, len(cells))
    notebook.picture("still")


def try_every_control(shown: Shown, twin) -> None:
    """Move each control of a picture with the keys; the page must say what its twin here says."""
    shown.says(twin.words)
    shown.controls.first.focus()
    for place, (control_name, control) in enumerate(twin.controls.items()):
        shown.focus(place)
        # to the end of a slider that has grown goes only the arrow: Lab's End key knows the old one
        keys = ["Home", "ArrowRight"] if control_name in twin.limits(**twin.values) else ["Home", "ArrowRight", "End"]
        for key in ["Space"] if isinstance(control.value, bool) else keys:
            shown.page.keyboard.press(key)
            control.value = KEYS[key](control)
            _, words = twin.draw(**twin.values)  # drawn anew: the twin's own words would be as old, were the key dead
            shown.says(words)


@pytest.mark.slow
@pytest.mark.parametrize("lesson, pictures", [("lesson2_ranks", 2), ("lesson3_sampler", 2), ("lesson4_ddp", 1)])
def test_a_lesson_that_lab_does_not_trust_yet_shows_the_still_pictures(browser, course, lesson, pictures):
    cells = json.loads((ROOT / "notebooks" / f"{lesson}.ipynb").read_text())["cells"]
    stored = [output for cell in cells for output in cell.get("outputs", ()) if "image/png" in output.get("data", ())]
    assert len(stored) == pictures
    wait_for_stills(browser.new_page(), course, lesson, pictures)


def wait_for_stills(page, course, name: str, pictures: int) -> None:
    """Open a notebook without a kernel; wait until all its still pictures are there, and nothing in their place."""
    page.goto(course[1]("").replace("lab/tree/?", "lab?"))
    page.wait_for_function("() => window.jupyterapp?.restored.then(() => true)", timeout=SECONDS * 1000)
    page.evaluate(OPEN_WITHOUT_KERNEL, f"notebooks/{name}.ipynb")
    # Lab draws a long notebook's cells little by little, so the last picture comes after the first
    expect(page.locator(STILLS)).to_have_count(pictures, timeout=SECONDS * 1000)
    assert page.locator(f".jp-OutputArea-output {STATUS}").count() == 0
    assert page.evaluate(STATE)[0] is None  # no kernel
    for still in page.locator(STILLS).all():
        expect(still).to_have_js_property("naturalWidth", 1140, timeout=SECONDS * 1000)
        expect(still).to_have_js_property("clientWidth", 760)
