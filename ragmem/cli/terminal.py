"""What a terminal with colours is shown, by Rich: tables and lines that fit its width, and Markdown.

The words are those that a pipe gets. Only the eight basic colours are used, beside a word that says the same:
a terminal maps them to its own theme, dark or light.
"""

import re
import shutil
import sys
from collections.abc import Sequence
from io import StringIO
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from ragmem.charts.widths import display_width
from ragmem.cli.help import can_draw

NARROWEST = 20
"""Columns at least, whatever the terminal has."""

PAGE = 100
"""Columns of Markdown at most: longer lines are hard to read."""

CELL = 16
"""Columns that a column of text keeps in a table, if it needs them; with less for one, rows become lists."""

GAP = 2
"""Columns between two columns."""

STATUS = {"ok": "green", "warning": "bold yellow", "failed": "bold red"}
"""The styles of cells that tell how it went."""

_MARKDOWN = Theme(
    {
        **{f"markdown.h{level}": "bold" for level in range(1, 7)},
        "markdown.code": "cyan",
        "markdown.block_quote": "dim",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
        "markdown.hr": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)

_VERBATIM = "html_block html_inline image link reference autolink entity lheading".split()
"""Rules of Markdown that Rich would shorten or leave out: their text stands as it was written."""

_ASCII = str.maketrans("•─▌", "--|")
"""What is drawn in lists and quotes, for terminals that lack the characters."""

_PADDING = re.compile(r" +((?:\x1b\[0m)?)$", re.MULTILINE)


def write_line(line: str, *, indent: int) -> None:
    """Write a line with styles, wrapped at words; its further lines begin `indent` columns to the right."""
    text = Text.from_ansi(line)
    wrapped = text.wrap(_console(), max(NARROWEST // 2, columns() - indent))
    first = wrapped[0] if wrapped else Text()
    _write(first)
    for further in wrapped[1:]:
        _write(Padding(further, (0, 0, 0, indent)))


def write_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Sequence[bool]) -> None:
    """Write a table that fits: long cells are wrapped, and what is too narrow for columns becomes a list."""
    widths = [max(map(display_width, cells)) for cells in zip(headers, *rows, strict=True)]
    least = [width if right else min(width, CELL) for width, right in zip(widths, numeric, strict=True)]
    if sum(least) + GAP * (len(least) - 1) > columns():
        for row in rows:
            _write_record(headers, row)
        return
    table = Table(
        box=SIMPLE_HEAD if can_draw() else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1 if can_draw() else GAP, 0, 0),  # a box has a column between its columns
        header_style="bold",
    )
    for header, narrowest, right in zip(headers, least, numeric, strict=True):
        justify = "right" if right else "left"
        table.add_column(header, justify=justify, min_width=narrowest, no_wrap=right, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(cell, style=STATUS.get(cell, "")) for cell in row))
    _write(table)


def _write_record(headers: Sequence[str], row: Sequence[str]) -> None:
    """Write a row as its first cell and, below, the others behind their headers; short ones share a line."""
    _write(Text.assemble((headers[0], "dim"), " ", (row[0], "bold")))
    line = Text()
    for header, cell in zip(headers[1:], row[1:], strict=True):
        if not cell:
            continue
        pair = Text.assemble((header, "dim"), " ", (cell, STATUS.get(cell, "")))
        if line and display_width(f"  {line.plain}  {pair.plain}") > columns():
            _write(Padding(line, (0, 0, 0, 2)))
            line = Text()
        line = Text.assemble(line, "  ", pair) if line else pair
    if line:
        _write(Padding(line, (0, 0, 0, 2)))


class _Heading(Heading):
    """A left-aligned heading behind its marks, with a blank line before it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        if self.tag != "h1":
            yield Text("")
        yield Text.assemble((f"{'#' * int(self.tag[1:])} ", "dim"), self.text)


class _Code(CodeBlock):
    """An indented block of code in one colour: those of a highlighter suit one theme alone."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.lexer_name != "text":
            yield Text(f"    {self.lexer_name}", style="dim")
        yield Padding(Text(str(self.text).rstrip("\n"), style="cyan", overflow="fold"), (0, 0, 0, 4))


class _Page(Markdown):
    """Markdown of which no word is lost, and whose lines end where they end in the text."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, text: str) -> None:
        super().__init__("")
        self.parsed = MarkdownIt("commonmark").disable(_VERBATIM).parse(text)
        for token in self.parsed:
            for child in token.children or ():
                child.type = "hardbreak" if child.type == "softbreak" else child.type


def write_markdown(text: str) -> None:
    """Write Markdown, in at most PAGE columns."""
    _write(_Page(text.replace("\t", "    ")), width=min(PAGE, columns()))


def columns() -> int:
    """Return the columns of the terminal."""
    return max(NARROWEST, shutil.get_terminal_size((100, 24)).columns)


def _console(width: int = 0) -> Console:
    return Console(
        file=StringIO(),
        width=width or columns(),
        force_terminal=True,
        color_system="standard",
        theme=_MARKDOWN,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _write(shown: RenderableType, *, width: int = 0) -> None:
    """Write to standard output in its encoding, without the spaces that fill up lines."""
    console = _console(width)
    console.print(shown)
    encoding = sys.stdout.encoding or "utf-8"
    text = _PADDING.sub(r"\1", console.file.getvalue())  # type: ignore[attr-defined]
    text = text if can_draw() else text.translate(_ASCII)
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
