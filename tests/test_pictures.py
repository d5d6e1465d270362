"""What all pictures have in common, at every corner of their controls."""

import base64
from html import escape

import nbformat
import pytest
from drawn import assert_looks, corners
from nbconvert import HTMLExporter
from notebook import opened

from ddp_lessons.workbench.pictures.killed_run import KilledRun
from ddp_lessons.workbench.pictures.picture import color_of
from ddp_lessons.workbench.pictures.ranks_map import RanksMap
from ddp_lessons.workbench.pictures.ring import RingAllReduce
from ddp_lessons.workbench.pictures.sampler import SamplerExplorer
from ddp_lessons.workbench.pictures.shares import UnequalShares
from ddp_lessons.workbench.scripts import ROOT, Refused

PICTURES = [SamplerExplorer, RanksMap, RingAllReduce, UnequalShares, KilledRun]


@pytest.mark.parametrize("kind", PICTURES)
def test_every_corner_is_of_one_size_in_one_palette_and_nothing_is_cut_off(kind):
    seen = set()
    for picture in corners(kind()):
        assert_looks(picture)
        seen.add(picture.words)
    assert len(seen) >= 4


def test_what_moves_and_what_stands_still_are_stored_apart_each_with_words(tmp_path):
    with opened(tmp_path) as notebook:
        for kind in PICTURES:
            notebook.run(f"from {kind.__module__} import {kind.__name__}\n{kind.__name__}()")
            moving, still = notebook.displayed
            assert set(moving) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
            assert moving["text/plain"] == kind().words
            assert base64.b64decode(still["image/png"]).startswith(b"\x89PNG") and len(still) == 2


@pytest.mark.parametrize("lesson, pictures", [("lesson2_ranks", 2), ("lesson3_sampler", 2), ("lesson4_ddp", 1)])
def test_exported_html_says_what_the_still_pictures_show_and_has_them(lesson, pictures):
    notebook = nbformat.read(ROOT / "notebooks" / f"{lesson}.ipynb", 4)
    page, _ = HTMLExporter().from_notebook_node(notebook)
    outputs = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    words = [data["text/plain"] for data in outputs if "application/vnd.jupyter.widget-view+json" in data]
    assert len(words) == pictures == page.count('src="data:image/png;base64,')
    assert all(escape(text) in page for text in words)


def light(color: str) -> float:
    """Return the relative luminance of a colour, as the web's accessibility guidelines (WCAG 2) define it."""
    long = color if len(color) == 7 else "#" + "".join(2 * digit for digit in color[1:])
    parts = [int(long[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_letters_stand_out_from_the_colour_of_their_rank():
    for rank in range(8):
        darker, lighter = sorted(map(light, color_of(rank)))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5


@pytest.mark.parametrize(
    "kind, few, follows, most", [(RanksMap, "machines", "rank", 3), (RingAllReduce, "ranks", "step", 2)]
)
def test_a_slider_goes_as_far_as_the_others_allow(kind, few, follows, most):
    picture = kind()
    control = picture.controls[follows]
    control.value = control.max
    picture.controls[few].value = picture.controls[few].min
    assert (control.value, control.max) == (most, most)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SamplerExplorer(samples=65),
        lambda: SamplerExplorer(ranks=0),
        lambda: SamplerExplorer(batch_size="2"),
        lambda: SamplerExplorer(shuffle=1),
        lambda: RanksMap(machines=5),
        lambda: RanksMap(cards=None),
        lambda: RanksMap(rank=8),
        lambda: RingAllReduce(ranks=1),
        lambda: RingAllReduce(step=7),
        lambda: RingAllReduce(ranks=True),
        lambda: UnequalShares(ranks=5),
        lambda: UnequalShares(first=8),
        lambda: UnequalShares(ranks=4, first=6),
        lambda: UnequalShares(images=-1),
        lambda: UnequalShares(weighted="yes"),
        lambda: KilledRun(before=5),
        lambda: KilledRun(after=0),
        lambda: KilledRun(killed=8),
        lambda: KilledRun(every=2.0),
        lambda: KilledRun(sigterm=None),
    ],
)
def test_a_value_that_cannot_be_drawn_is_refused_in_a_sentence(make):
    with pytest.raises(Refused, match=": "):
        make()
