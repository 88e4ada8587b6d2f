"""Charts as coloured text: the signs differ as well, so that the colours alone tell nothing."""

from collections.abc import Iterable

from rich.color import Color
from rich.text import Text
from textual.theme import Theme

from ragmem.charts.chart_lines import Paint
from ragmem.charts.charts import Tone
from ragmem.cli.common import printable

_COLOURS = {
    Tone.PLAIN: "primary",
    Tone.FRESH: "secondary",
    Tone.FIRM: "success",
    Tone.LASTING: "accent",
    Tone.FADING: "warning",
    Tone.GONE: "error",
}


def painter(theme: Theme) -> Paint:
    """Return what colours a text by its tone, as escapes that `text_of` reads."""

    def paint(text: str, tone: Tone) -> str:
        colour = getattr(theme, _COLOURS[tone]) or theme.primary
        red, green, blue = Color.parse(colour).get_truecolor()
        return f"\x1b[38;2;{red};{green};{blue}m{text}\x1b[0m"

    return paint


def text_of(lines: Iterable[str]) -> Text:
    """Return lines that `painter` has coloured as one text; their words hold no escapes of others."""
    return Text.from_ansi("\n".join(lines), no_wrap=True)


def heading(text: str) -> str:
    """Return a heading among such lines."""
    return f"\x1b[1m{printable(text)}\x1b[0m"
