"""The base of views that scroll a text, which a thread reads, and charts as coloured text for them."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from rich.color import Color
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.theme import Theme

from ragmem.charts.model import Plot, Tone
from ragmem.charts.terminal import Paint, lines
from ragmem.cli.common import printable
from ragmem.cli.explorer.shell import Plain
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.cli.explorer.shell import Shell

_COLOURS = {
    Tone.PLAIN: "primary",
    Tone.FRESH: "secondary",
    Tone.FIRM: "success",
    Tone.LASTING: "accent",
    Tone.FADING: "warning",
    Tone.GONE: "error",
}
"""Symbols differ as well, because colour alone must not carry meaning."""


class ReportPane(VerticalScroll):
    """A scrolling text; a subclass reads its content in `read` and returns the text from `draw`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]

    app: "Shell"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes="pane")

    async def read(self) -> None:
        """Read the content, and call `redraw`."""
        raise NotImplementedError

    def draw(self) -> Text | None:
        """Return the text for the current width and colours; None before anything was read."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        yield Plain("reading…", classes="plain")

    def on_mount(self) -> None:
        """Read the content."""
        self.reload()

    def take_focus(self) -> None:
        """Focus the text, so that keys scroll it."""
        self.focus()

    def reload(self) -> None:
        """Read the content again."""
        self.run_worker(self._load(), exclusive=True, group="load")

    def redraw(self) -> None:
        """Draw the text again, for another width or other colours."""
        if (drawing := self.draw()) is not None:
            self.query_one(Plain).update(drawing)

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002 - Textual's
        """Fit the text to the new width."""
        self.redraw()

    async def _load(self) -> None:
        text = self.query_one(Plain)
        if not self.app.stored:
            text.update(self.app.nothing_stored)
            return
        try:
            await self.read()
        except RagmemError as error:
            text.update(error.full_message)


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
    """Return lines as one text; they must have no escapes other than those of `plot_lines` and `heading`."""
    return Text.from_ansi("\n".join(coloured), no_wrap=True)


def heading(text: str) -> str:
    """Return a heading for `text_of`."""
    return f"\x1b[1m{printable(text)}\x1b[0m"
