"""A picture as a PNG image, for where nothing moves.

GitHub, exported HTML and a notebook that Jupyter Lab does not trust yet all show PNG; SVG they show in part, or not.
"""

import io
import re
from xml.etree import ElementTree

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Polygon

SCALE = 1.5  # pixels of the image for a unit of the drawing
POINT = 72 / 100  # of an inch, a hundredth of which is a unit of the drawing


def png_of(svg: str) -> bytes:
    """Return the image of a drawing that is made of rectangles, lines, circles, polygons and text, in light colours."""
    root = ElementTree.fromstring(re.sub(r"var\([^,]+, ?([^)]+)\)", r"\1", svg))
    width, height = float(root.get("width")), float(root.get("height"))
    figure = Figure(figsize=(width / 100, height / 100), dpi=100 * SCALE)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for order, shape in enumerate(root.iter()):
        name = shape.tag.rpartition("}")[2]
        if name != "svg":
            PAINT[name](axes, shape, order)
    image = io.BytesIO()
    FigureCanvasAgg(figure).print_png(image)
    return image.getvalue()


def number(shape: ElementTree.Element, name: str, default: float = 0) -> float:
    """Return an attribute that is a number."""
    return float(shape.get(name, default))


def style(shape: ElementTree.Element, order: int) -> dict[str, object]:
    """Return how a shape is filled and lined; later ones lie over earlier ones."""
    line, fill = shape.get("stroke", "none"), shape.get("fill", "none")
    width, dashes = number(shape, "stroke-width", 1) * POINT, "--" if shape.get("stroke-dasharray") else "-"
    return {"facecolor": fill, "edgecolor": line, "linewidth": width, "linestyle": dashes, "zorder": order}


def paint_rect(axes, shape: ElementTree.Element, order: int) -> None:
    """Paint a rectangle, its corners round or not."""
    x, y, width, height = (number(shape, name) for name in ("x", "y", "width", "height"))
    corners = f"round,pad=0,rounding_size={number(shape, 'rx')}"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=corners, **style(shape, order)))


def paint_circle(axes, shape: ElementTree.Element, order: int) -> None:
    """Paint a circle."""
    center = number(shape, "cx"), number(shape, "cy")
    axes.add_patch(Circle(center, number(shape, "r"), **style(shape, order)))


def paint_polygon(axes, shape: ElementTree.Element, order: int) -> None:
    """Paint a polygon, such as the head of an arrow."""
    numbers = list(map(float, re.findall(r"[-\d.]+", shape.get("points"))))
    axes.add_patch(Polygon(list(zip(numbers[::2], numbers[1::2], strict=True)), **style(shape, order)))


def paint_line(axes, shape: ElementTree.Element, order: int) -> None:
    """Paint a straight line."""
    x, y = ([number(shape, f"{way}{end}") for end in (1, 2)] for way in "xy")
    looks = style(shape, order)
    axes.plot(x, y, looks["linestyle"], color=looks["edgecolor"], linewidth=looks["linewidth"], zorder=order)


def paint_text(axes, shape: ElementTree.Element, order: int) -> None:
    """Paint words, a little smaller: matplotlib's letters are wider than a browser's."""
    side = {"start": "left", "middle": "center", "end": "right"}[shape.get("text-anchor", "start")]
    size = number(shape, "font-size", 12) * POINT * 0.92
    x, y, weight = number(shape, "x"), number(shape, "y"), shape.get("font-weight", "normal")
    words = shape.text.replace("$", r"\$")  # no formula
    axes.text(x, y, words, color=shape.get("fill"), ha=side, va="baseline", size=size, weight=weight, zorder=order)


PAINT = {
    "rect": paint_rect,
    "circle": paint_circle,
    "polygon": paint_polygon,
    "line": paint_line,
    "text": paint_text,
}
