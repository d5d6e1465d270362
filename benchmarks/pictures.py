"""How long a picture takes to follow a key: from the press until the page shows it, in Jupyter Lab in a browser."""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from lab import Notebook, running_lab, write_notebook

HEAVY = {  # the most that each can be made to draw, and the control that is moved, from 0
    "sampler": ("sampler", "SamplerExplorer(64, 8, 1, shuffle=True)", 6),
    "ranks map": ("ranks_map", "RanksMap(4, 8, 0)", 2),
    "ring": ("ring", "RingAllReduce(8, 0)", 1),
    "unequal shares": ("shares", "UnequalShares(4, 2)", 3),
    "killed run": ("killed_run", "KilledRun(4, 4, 1, forgets=True, killed=1)", 5),
    "DDP step": ("ddp_step", "DDPStep(on_ranks(4, record_steps))", 0),
}
IMPORTS = """from ddp_lessons.workbench import on_ranks
from ddp_lessons.workbench.step_record import record_steps
"""
HANDLES = ".jp-OutputArea-output :is([role=slider], input[type=checkbox])"
TIME = """key => new Promise((done, fail) => {
    setTimeout(() => fail(new Error("nothing has changed on the page for 10 s")), 10000)
    const page = document.querySelector(".jp-Notebook"), begin = performance.now()
    const before = page.querySelector("p[role=status]").textContent
    const watch = new MutationObserver(() => {
        if (page.querySelector("p[role=status]").textContent === before) return
        watch.disconnect()
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)))  // once it is painted
    })
    watch.observe(page, {subtree: true, childList: true, characterData: true})
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}))
})"""


def main() -> None:
    """Measure each picture, and print a line on it."""
    options = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--presses", type=int, default=40, help="of a key, for each picture")
    presses = options.parse_args().presses
    chromium = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if chromium is None:
        sys.exit("this measures in a browser: install Chromium (on Debian: apt install chromium)")
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=os.geteuid() != 0)
        for name, (module, call, control) in HEAVY.items():
            kind = call.partition("(")[0]
            cell = f"{IMPORTS}from ddp_lessons.workbench.pictures.{module} import {kind}\n{call}"
            times = measure(browser.new_page(), address, Path(folder), cell, control, presses)
            print(f"{name}: {median(times):.0f} ms (median of {presses}), the slowest {max(times):.0f} ms")


def measure(page, address, folder: Path, cell: str, control: int, presses: int) -> list[float]:
    """Return the milliseconds of each press, to the right and back."""
    write_notebook(folder / "notebooks" / "picture.ipynb", cell)
    notebook = Notebook(page, address("notebooks/picture.ipynb"), folder)
    notebook.run(0)
    handle = page.locator(HANDLES).nth(control)
    handle.wait_for()
    handle.focus()
    times = [page.evaluate(TIME, ["ArrowRight", "ArrowLeft"][press % 2]) for press in range(presses)]
    notebook.shut_down()
    return times


if __name__ == "__main__":
    main()
