"""What all pictures share: controls above, a drawing, the same in words, and a still version of it."""

from base64 import b64encode
from html import escape

import ipywidgets as widgets
from IPython.display import display

from ddp_lessons.workbench.pictures.still import png_of
from ddp_lessons.workbench.scripts import Refused

WIDTH, HEIGHT = 760, 340
# Okabe and Ito's colours, which the colour-blind tell apart: https://jfly.uni-koeln.de/color/; grey for their black
COLORS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#999999"]
DARK = {"#0072B2"}  # where white letters are read better than black ones
# Jupyter's own colours, light or dark; what comes after the comma is for the still version, which has no theme
INK, PALE, PAPER = "var(--jp-ui-font-color1, #222)", "var(--jp-border-color1, #bbb)", "var(--jp-layout-color0, #fff)"
# The still version stands below the one that moves, and is not to be seen beside it
HIDE = "<style>.jp-OutputArea-child:has([role=status]) + .jp-OutputArea-child { display: none }</style>"


class Picture(widgets.VBox):
    """A drawing that follows its controls, and says in words what it shows.

    Where there is no kernel, as on GitHub, in HTML, or in a notebook that has just been opened, it stands still.
    """

    def __init__(self, **controls: widgets.Widget):
        self.controls = controls
        self.screen = widgets.HTML()
        row = widgets.Layout(flex_flow="row wrap", width=f"{WIDTH}px")
        super().__init__([widgets.Box(list(controls.values()), layout=row), self.screen])
        for control in controls.values():
            control.observe(self.redraw, "value")
        self.redraw()

    def draw(self, **values: int | bool) -> tuple[list[str], str]:
        """Return the shapes, and the same in words, for these values of the controls."""
        raise NotImplementedError

    def limits(self, **values: int | bool) -> dict[str, int]:
        """Return how far sliders go whose end depends on the values of others; there may be none."""
        return {}

    @property
    def values(self) -> dict[str, int | bool]:
        """What the controls say, by name."""
        return {name: control.value for name, control in self.controls.items()}

    def redraw(self, _change: object = None) -> None:
        """Draw what the controls say."""
        for name, most in self.limits(**self.values).items():
            self.controls[name].max = most  # a slider beyond it moves there
        shapes, self.words = self.draw(**self.values)
        self.svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            f' role="img" aria-label="{escape(self.words)}" style="font: 12px sans-serif">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>{"".join(shapes)}</svg>'
        )
        looks = f"width: {WIDTH}px; line-height: 1.4"
        self.screen.value = f'{self.svg}{HIDE}<p role="status" style="{looks}">{escape(self.words)}</p>'

    def _ipython_display_(self) -> None:
        # Two outputs: of one, Lab takes the part that moves, and once the kernel has ended says "model not found"
        moving = self._repr_mimebundle_() | {"text/plain": self.words}
        still = {"image/png": b64encode(png_of(self.svg)).decode(), "text/plain": "still picture"}
        display(moving, raw=True)
        display(still, metadata={"image/png": {"width": WIDTH}}, raw=True)


def slider(label: str, least: int, most: int, value: int) -> widgets.IntSlider:
    """Return a slider for a whole number; it moves with the arrow keys, too. Raises Refused for another number."""
    if type(value) is not int or not least <= value <= most:
        raise Refused(f"{label} {value!r}: a whole number from {least} to {most} can be drawn")
    layout = widgets.Layout(width="245px")
    return widgets.IntSlider(value, least, most, description=label, layout=layout)


def switch(label: str, value: bool) -> widgets.Checkbox:
    """Return a box to tick, with the space bar too. Raises Refused for what is neither True nor False."""
    if type(value) is not bool:
        raise Refused(f"{label} {value!r}: it can be True or False")
    layout = widgets.Layout(width="max-content", min_width="120px")
    return widgets.Checkbox(value, description=label, indent=False, layout=layout)


def text(x: float, y: float, words: object, color: str = INK, anchor: str = "start", size: int = 12) -> str:
    """Return words; `x` is where they start, or, with the anchor "middle" or "end", where that is."""
    words = escape(str(words))
    return f'<text x="{x:g}" y="{y:g}" fill="{color}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    color: str = PAPER,
    line: str = PALE,
    dashed: bool = False,
    thick: bool = False,
) -> str:
    """Return a rectangle, filled with a colour, with a line around it; a thick one marks, in the ink's colour."""
    line, how = (INK, ' stroke-width="3"') if thick else (line, "")
    how += ' stroke-dasharray="3 2"' if dashed else ""
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} rx="3" fill="{color}" stroke="{line}"{how}/>'


def line(x: float, y: float, x2: float, y2: float, color: str = INK, width: float = 1) -> str:
    """Return a straight line from one point to another."""
    ends = f'x1="{x:g}" y1="{y:g}" x2="{x2:g}" y2="{y2:g}"'
    return f'<line {ends} stroke="{color}" stroke-width="{width:g}"/>'


def arrow(x: float, y: float, x2: float) -> str:
    """Return an arrow to the right."""
    head = f'<polygon points="{x2 - 7:g},{y - 4:g} {x2:g},{y:g} {x2 - 7:g},{y + 4:g}" fill="{INK}"/>'
    return line(x, y, x2 - 6, y, width=2) + head


def color_of(rank: int) -> tuple[str, str]:
    """Return a rank's colour, and that of letters on it. Eight ranks differ; give the number of each as well."""
    color = COLORS[rank % len(COLORS)]
    return color, "#fff" if color in DARK else "#000"
