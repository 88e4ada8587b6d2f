"""Draw a plot as SVG that can be read on light and on dark ground, by eye or by a screen reader."""

from ragmem.charts.chart_lines import wrapped
from ragmem.charts.plots.axes_picture import columns_drawn, curves_drawn
from ragmem.charts.plots.frame import EDGE, LINE, WIDTH, text
from ragmem.charts.plots.model import Columns, Curves, Plot, Stacks
from ragmem.charts.plots.rows_picture import stacks_drawn, strip_drawn
from ragmem.charts.plots.style import SMALL, STYLE, VARIABLES
from ragmem.charts.svg_text import xml


def svg(plot: Plot, *, name: str = "plot") -> str:
    """Return a whole document with title, note and its own style: a file, or the address of a picture."""
    return _document(plot, name, alone=True) + "\n"


def inline(plot: Plot, *, name: str) -> str:
    """Return the element for an HTML page that has `style.VARIABLES` and `style.STYLE`.

    `name` differs from plot to plot: its title and description are named so. Title and note are not drawn:
    the page has them.
    """
    return _document(plot, name, alone=False)


def _document(plot: Plot, name: str, *, alone: bool) -> str:
    top = 30.0 if alone else 2.0
    body, bottom = _drawn(plot, top)
    head: list[str] = []
    if alone:
        head = [
            f"<style>\n{VARIABLES}{STYLE}</style>",
            '<rect class="ground" width="100%" height="100%"/>',
            text(EDGE, 20, plot.title, classes="name title", room=(WIDTH - 2 * EDGE) * 0.86),
        ]
        for line in wrapped(plot.note, int((WIDTH - 2 * EDGE) / SMALL)):
            bottom += LINE
            body.append(text(EDGE, bottom - 3, line))
    high = int(bottom + EDGE)
    size = f'width="{WIDTH}" height="{high}" ' if alone else ""
    size += f'viewBox="0 0 {WIDTH} {high}" '
    named = f'role="img" aria-labelledby="{xml(name)}-title {xml(name)}-desc"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size}{named}>',
            f'<title id="{xml(name)}-title">{xml(plot.title)}</title>',
            f'<desc id="{xml(name)}-desc">{xml(plot.note or plot.title)}</desc>',
            *head,
            *body,
            "</svg>",
        ]
    )


def _drawn(plot: Plot, top: float) -> tuple[list[str], float]:
    """Return the elements of a plot, and where it ends."""
    if isinstance(plot, Curves):
        return curves_drawn(plot, top)
    if isinstance(plot, Columns):
        return columns_drawn(plot, top)
    if isinstance(plot, Stacks):
        return stacks_drawn(plot, top)
    return strip_drawn(plot, top)
