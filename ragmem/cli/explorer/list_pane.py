"""The base of all lists: a filter, the table, details of a row, and a text for an empty list."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.widgets import Input

from ragmem.api.memory import Ragmem
from ragmem.cli.common import plural
from ragmem.cli.explorer.filter_query import FilterQuery, Suggestions, has_words, parse_filter
from ragmem.cli.explorer.shell import Plain
from ragmem.cli.explorer.table import Column, Row, Table
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.cli.explorer.shell import Shell

DEBOUNCE_S = 0.12
"""Seconds without a key until the filter is applied."""

PAGE = 100
"""Rows of a page."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows; `rest` is the start of the next page (None: the last), `total` None if not counted."""

    rows: Sequence[Row]
    total: int | None = None
    rest: Any = None
    status: str = ""


class ListPane(Vertical):
    """A list. A subclass sets its columns, reads its pages in a thread, and explains an empty list."""

    COLUMNS: ClassVar[tuple[Column, ...]] = ()
    KEYS: ClassVar[tuple[str, ...]] = ()
    """Keys of the filter."""
    HINT: ClassVar[str] = "words"
    """What one can type into the filter."""
    EMPTY: ClassVar[str] = "Nothing here yet."
    UNIT: ClassVar[tuple[str, ...]] = ("memory", "memories")
    """What a row is: one, and several if not with an s."""
    FILTERED: ClassVar[bool] = False
    """Whether `page` applies the words of the filter; else rows without them are hidden."""
    NEEDS_MEMORIES: ClassVar[bool] = True
    """Whether the list is empty before anything was stored."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter"),
        Binding("d", "detail", "Detail"),
        Binding("c", "copy", "Copy id"),
        Binding("e", "edit", "Edit file", show=False),
        Binding("escape", "unfilter", show=False),
    ]

    app: "Shell"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes="pane")
        self._rest: Any = None
        self._total: int | None = None
        self._page_status = ""
        self._readings = 0
        """Number of reloads: pages that were requested before the last one are discarded."""

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:
        """Return the page after `after` (None: the first); called in a thread."""
        raise NotImplementedError

    def read_filter(self) -> FilterQuery:
        """Return the parsed filter."""
        return parse_filter(self.line.value, self.KEYS)

    def values(self) -> Mapping[str, Iterable[str]]:
        """Return the values that the filter completes, by their keys."""
        return {key: self.app.known.get(key, ()) for key in self.KEYS}

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        line = Input(
            placeholder=f"filter: {self.HINT}",
            suggester=Suggestions(self.values),
            classes="filter",
            compact=True,
        )
        line.display = False
        yield line
        with Container(classes="split"):
            yield Table(self.COLUMNS, id="rows")
            with VerticalScroll(classes="detail", can_focus=False):
                yield Plain(classes="told")
        yield Plain(classes="empty")
        yield Plain(classes="status")

    def on_mount(self) -> None:
        """Start the list."""
        self.query_one(".empty").display = False
        self.start()

    # Textual calls the handlers of all classes of a widget, so subclasses override these methods instead.

    def start(self) -> None:
        """Read the first page."""
        self.reload()

    def apply_typing(self) -> None:
        """Apply the filter while one types."""
        self.run_worker(self._load(DEBOUNCE_S), exclusive=True, group="load")

    def apply_enter(self) -> None:
        """Leave the filter after Enter."""
        self.table.focus()

    @property
    def table(self) -> Table:
        """The table."""
        return self.query_one("#rows", Table)

    @property
    def line(self) -> Input:
        """The input line of the filter."""
        return self.query_one(".filter", Input)

    def take_focus(self) -> None:
        """Focus the table."""
        self.table.focus()

    def reload(self) -> None:
        """Reload the list."""
        self.run_worker(self._load(0.0), exclusive=True, group="load")

    @on(Input.Changed, ".filter")
    def _handle_typing(self, event: Input.Changed) -> None:
        event.stop()
        self.apply_typing()

    @on(Input.Submitted, ".filter")
    def _handle_enter(self, event: Input.Submitted) -> None:
        event.stop()
        self.apply_enter()

    @on(Table.NearEnd)
    def _handle_near_end(self) -> None:
        if self._rest is not None:
            after, self._rest = self._rest, None
            self.run_worker(self._load_more(after), group="more")

    @on(Table.RowHighlighted)
    def _handle_highlight(self) -> None:
        self._show_detail()

    @on(Table.RowSelected)
    def _handle_selection(self) -> None:
        row = self.table.current
        if row is not None:
            self.open(row)

    def open(self, row: Row) -> None:
        """Open the item in a row."""
        self.app.open_row(row)

    def action_filter(self) -> None:
        """Focus the filter."""
        self.line.display = True
        self.line.focus()

    def action_unfilter(self) -> None:
        """Remove the filter, or go back to the previous screen."""
        if self.line.display:
            self.line.display = False
            self.table.focus()
            if self.line.value:
                self.line.value = ""
        else:
            self.app.go_back()

    def action_detail(self) -> None:
        """Show or hide the details of a row."""
        detail = self.query_one(".detail")
        detail.display = not detail.display

    def action_copy(self) -> None:
        """Copy the id of the row."""
        row = self.table.current
        if row is not None and row.key:
            self.app.copy(row.key)

    def action_edit(self) -> None:
        """Open the file of the row in $EDITOR."""
        row = self.table.current
        if row is not None:
            self.app.edit(row.path)

    async def _load(self, pause: float) -> None:
        self._readings += 1
        await asyncio.sleep(pause)
        query = self.read_filter()
        if self.NEEDS_MEMORIES and not self.app.stored:
            self._say_empty(self.app.nothing_stored)
            return
        self.query_one(".status", Plain).update("reading…")
        try:
            page = await self.app.reader.run(lambda memory: self.page(memory, query, None))
        except RagmemError as error:
            self._page_status = ""
            self._say_empty(error.full_message)
            return
        rows = self._filter_rows(page.rows, query)
        self._rest, self._total, self._page_status = page.rest, page.total, page.status
        self.table.fill(rows)
        if not rows:
            self._say_empty(self.no_match() if self.line.value.strip() else self.EMPTY)
            return
        self.query_one(".split").display = True
        self.query_one(".empty").display = False
        self._say_status()
        self._show_detail()

    def no_match(self) -> str:
        """Return what a filter says that no row matches."""
        return f"Nothing matches “{self.line.value}”. Escape clears the filter."

    async def _load_more(self, after: Any) -> None:
        query, reading = self.read_filter(), self._readings
        try:
            page = await self.app.reader.run(lambda memory: self.page(memory, query, after))
        except RagmemError as error:
            self.query_one(".status", Plain).update(error.full_message)
            return
        if reading == self._readings:
            self._rest = page.rest
            self.table.more(self._filter_rows(page.rows, query))
            self._say_status()

    def _filter_rows(self, rows: Sequence[Row], query: FilterQuery) -> list[Row]:
        if self.FILTERED or not query.text:
            return list(rows)
        return [row for row in rows if has_words(query, (*row.cells, row.key, row.path))]

    def _say_empty(self, text: str) -> None:
        self.table.fill([])
        self.query_one(".split").display = False
        empty = self.query_one(".empty", Plain)
        empty.display = True
        empty.update(text)
        self.query_one(".status", Plain).update(self._page_status)

    def _say_status(self) -> None:
        shown = len(self.table.shown)
        total = self._total if self._total is not None else shown
        count = (f"{shown:,} of " if total > shown else "") + plural(total, *self.UNIT)
        line = f"filter: {self.line.value}" if self.line.value else ""
        self.query_one(".status", Plain).update("   ".join(filter(None, (count, self._page_status, line))))

    def _show_detail(self) -> None:
        row = self.table.current
        self.query_one(".told", Plain).update(row.detail if row is not None else "")
