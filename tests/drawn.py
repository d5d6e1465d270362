"""What a picture shows, read from its shapes, and its controls moved to every corner."""

from collections.abc import Iterator
from itertools import pairwise, product
from xml.etree import ElementTree

from ddp_lessons.workbench.pictures.picture import COLORS, HEIGHT, INK, PALE, PAPER, WIDTH, Picture

PALETTE = {*COLORS, INK, PALE, PAPER, "#fff", "#000", None}


def shapes_of(picture: Picture) -> list[ElementTree.Element]:
    """Return the shapes of a picture, in the order drawn."""
    return list(ElementTree.fromstring(picture.svg))


def assert_looks(picture: Picture) -> None:
    """Hold a picture to the size and the palette of all, with nothing cut off."""
    assert f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"' in picture.svg
    assert picture.screen.value.startswith(picture.svg) and '<p role="status"' in picture.screen.value
    for shape in shapes_of(picture):
        assert {shape.get("fill"), shape.get("stroke")} <= PALETTE
        x, y = (max(float(shape.get(name, 0)) for name in (axis, f"{axis}2")) for axis in "xy")
        assert 0 <= x and x + float(shape.get("width", 0)) <= WIDTH
        assert 0 <= y and y + float(shape.get("height", 0)) <= HEIGHT


def boxes_of(picture: Picture, color: str, **attributes: str) -> list[str]:
    """Return what stands in the boxes of a colour that have some attributes."""
    shapes = shapes_of(picture)[1:]  # without the background
    looks = {"fill": color, **attributes}
    pairs = pairwise(shapes)
    return [word.text for box, word in pairs if box.tag.endswith("rect") and looks.items() <= box.attrib.items()]


def corners(picture: Picture) -> Iterator[Picture]:
    """Move every control to each of its ends, in all combinations, the later ones following the earlier."""
    *firsts, last = picture.controls.values()
    ends = [(False, True) if isinstance(control.value, bool) else (control.min, control.max) for control in firsts]
    for values in product(*ends):
        for control, value in zip(firsts, values, strict=True):
            control.value = value
        for end in (last.min, last.max):
            last.value = end
            yield picture
