"""A table that fits its columns to its width and loads more rows near its end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.message import Message
from textual.widgets import DataTable

from ragmem.charts.widths import truncate
from ragmem.cli.common import printable

AHEAD = 30
"""Rows before the end from which the next page is requested."""

PADDING = 2
"""Columns of padding of each cell."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column; width 0 takes the remaining space. It is hidden in a table narrower than `least`."""

    name: str
    width: int = 0
    least: int = 0
    right: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its cells, the `key` that c copies, the item that Enter opens, the file that e opens, details.

    `opens` is a type ("memory", "entity", ...) and an id.
    """

    cells: tuple[str, ...]
    key: str = ""
    opens: tuple[str, str] | None = None
    path: str = ""
    detail: str = ""
    data: Any = field(default=None, compare=False)


class Table(DataTable[Text]):
    """The table; its rows are in `shown`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Open"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "scroll_top", show=False),
        Binding("G", "scroll_bottom", show=False),
    ]

    class NearEnd(Message):
        """The cursor comes near the last line."""

    def __init__(self, columns: Sequence[Column], *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(cursor_type="row", id=id)
        self.shown: list[Row] = []
        self._spec = tuple(columns)
        self._laid_out_width = -1

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.shown[self.cursor_row] if 0 <= self.cursor_row < len(self.shown) else None

    def fill(self, rows: Sequence[Row]) -> None:
        """Show these rows instead, with the cursor on the first."""
        self.shown = list(rows)
        self._lay_out(0)

    def more(self, rows: Sequence[Row]) -> None:
        """Append rows."""
        self.shown += rows
        for row in rows:
            self._add(row)

    def on_resize(self, event: Resize) -> None:
        """Fit the columns to the new width."""
        if event.size.width != self._laid_out_width:
            self._lay_out(self.cursor_row)

    def on_data_table_row_highlighted(self) -> None:
        """Request more rows before the last one is reached."""
        if self.cursor_row >= len(self.shown) - AHEAD:
            self.post_message(self.NearEnd())

    def _lay_out(self, cursor: int) -> None:
        room = self.size.width
        self._laid_out_width = room or -1
        if not room:  # it is hidden: the next resize lays it out
            return
        self.clear(columns=True)
        self._widths = self._fit_columns(max(0, room - 2))
        for number, width in self._widths:
            spec = self._spec[number]
            label = Text(spec.name, justify="right" if spec.right else "left")
            self.add_column(label, width=width, key=str(number))
        for row in self.shown:
            self._add(row)
        if cursor:
            self.move_cursor(row=cursor, animate=False)

    def _fit_columns(self, room: int) -> list[tuple[int, int]]:
        """Return (column, width) of the visible columns."""
        kept = [number for number, one in enumerate(self._spec) if room >= one.least]
        free = [number for number in kept if not self._spec[number].width]
        used = sum(self._spec[number].width for number in kept) + PADDING * len(kept)
        each = max(8, (room - used) // len(free)) if free else 0
        return [(number, self._spec[number].width or each) for number in kept]

    def _add(self, row: Row) -> None:
        if self._laid_out_width < 0:
            return
        self.add_row(
            *(
                Text(
                    truncate(" ".join(printable(row.cells[number]).split()), width),
                    justify="right" if self._spec[number].right else "left",
                    no_wrap=True,
                )
                for number, width in self._widths
            )
        )
