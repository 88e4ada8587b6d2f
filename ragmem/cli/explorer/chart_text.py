"""Charts as coloured text; symbols differ as well, because colour alone must not carry meaning."""

from collections.abc import Iterable, Iterator

from rich.color import Color
from rich.text import Text
from textual.theme import Theme

from ragmem.charts.model import Plot, Tone
from ragmem.charts.terminal import Paint, lines
from ragmem.cli.common import printable

_COLOURS = {
    Tone.PLAIN: "primary",
    Tone.FRESH: "secondary",
    Tone.FIRM: "success",
    Tone.LASTING: "accent",
    Tone.FADING: "warning",
    Tone.GONE: "error",
}


def plot_lines(plots: Iterable[Plot], *, width: int, theme: Theme) -> Iterator[str]:
    """Yield the lines of plots, a blank line before each, for `text_of`."""
    for plot in plots:
        title, *rest = lines(plot, width=width, paint=_painter(theme))
        yield from ("", heading(title), *rest)


def _painter(theme: Theme) -> Paint:

    def paint(text: str, tone: Tone) -> str:
        colour = getattr(theme, _COLOURS[tone]) or theme.primary
        red, green, blue = Color.parse(colour).get_truecolor()
        return f"\x1b[38;2;{red};{green};{blue}m{text}\x1b[0m"

    return paint


def text_of(coloured: Iterable[str]) -> Text:
    """Return lines as one text; they must have no escapes other than those of this module."""
    return Text.from_ansi("\n".join(coloured), no_wrap=True)


def heading(text: str) -> str:
    """Return a heading for `text_of`."""
    return f"\x1b[1m{printable(text)}\x1b[0m"
