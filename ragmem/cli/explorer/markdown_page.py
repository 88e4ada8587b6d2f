"""Render the Markdown of a memory for a width; in a thread, because a long text takes a while.

Textual's own widget makes a widget of each paragraph: 30,000 characters took seconds, here 0.3 s.
"""

from io import StringIO
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.text import Text
from rich.theme import Theme as Styles
from textual.theme import Theme

from ragmem.cli.common import printable

NARROWEST, WIDEST = 20, 110
"""Minimum and maximum columns of a page: longer lines are hard to read."""


class _Heading(Heading):
    """A left-aligned heading with a blank line before it; Rich centres its own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        if self.tag != "h1":
            yield Text("")
        yield Text("#" * int(self.tag[1:]) + " ", style="markdown.mark") + self.text


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _Heading}


def page(text: str, *, width: int, theme: Theme) -> Text:
    """Return a text rendered as Markdown, without escapes of its own and without active links."""
    heading = f"bold {theme.primary}"
    styles = {
        **{f"markdown.h{level}": heading for level in range(1, 7)},
        "markdown.mark": theme.secondary or "",
        "markdown.code": theme.warning or "",
        "markdown.code_block": "",
        "markdown.item.bullet": theme.primary,
        "markdown.item.number": theme.primary,
        "markdown.block_quote": theme.secondary or "",
        "markdown.hr": theme.panel or "",
        "markdown.link": "underline",
        "markdown.link_url": "underline",
    }
    file = StringIO()
    console = Console(
        file=file,
        width=max(NARROWEST, min(width, WIDEST)),
        force_terminal=True,
        color_system="truecolor",
        no_color=False,
        theme=Styles(styles),
        legacy_windows=False,
        _environ={},
    )
    code = "nord" if theme.dark else "friendly"
    console.print(_Page(printable(text).replace("\t", "    "), code_theme=code, hyperlinks=False))
    return Text.from_ansi(file.getvalue(), no_wrap=True)
