"""What all lists share: a line to filter by, the table, what is told of a line, and of an empty list."""

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
from ragmem.cli.explorer.filtering import FilterQuery, Suggestions, has_words, parse_filter
from ragmem.cli.explorer.plain import Plain
from ragmem.cli.explorer.table import Column, Row, Table
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.cli.explorer.shell import Shell

SETTLED = 0.12
"""Seconds without a key until a filter is asked for."""

PAGE = 100
"""Lines of a page."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some lines; `rest` is where the next page begins, None for none; `total` None: nobody counted."""

    rows: Sequence[Row]
    total: int | None = None
    rest: Any = None
    told: str = ""


class ListPane(Vertical):
    """A list. A subclass names its columns, reads its pages in a thread, and says what an empty one means."""

    COLUMNS: ClassVar[tuple[Column, ...]] = ()
    KEYS: ClassVar[tuple[str, ...]] = ()
    """Keys of the filter."""
    HINT: ClassVar[str] = "words"
    """What the filter takes."""
    EMPTY: ClassVar[str] = "Nothing here yet."
    FILTERED: ClassVar[bool] = False
    """Whether `page` heeds the words of the filter; else lines are shown that have them."""
    NEEDS_MEMORIES: ClassVar[bool] = True
    """Whether there is nothing to read before anything was stored."""

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
        self._told = ""
        self._readings = 0
        """How often the list was read anew: a page that was asked for before belongs to it no longer."""

    def page(self, memory: Ragmem, asked: FilterQuery, after: Any) -> Page:
        """Return a page, behind `after` (None: the first); called in a thread."""
        raise NotImplementedError

    def asked(self) -> FilterQuery:
        """Return what the line asks for."""
        return parse_filter(self.line.value, self.KEYS)

    def values(self) -> Mapping[str, Iterable[str]]:
        """Return key -> values that the filter completes."""
        return {key: self.app.known.get(key, ()) for key in self.KEYS}

    def compose(self) -> ComposeResult:
        """Lay the list out."""
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
        """Begin."""
        self.query_one(".empty").display = False
        self.start()

    # Textual calls the handlers of all classes of a widget: what a subclass does otherwise stands apart.

    def start(self) -> None:
        """Read the first page."""
        self.reload()

    def typed(self) -> None:
        """Heed a letter of the filter."""
        self.run_worker(self._load(SETTLED), exclusive=True, group="load")

    def entered(self) -> None:
        """Heed Enter in the filter."""
        self.table.focus()

    @property
    def table(self) -> Table:
        """The table."""
        return self.query_one("#rows", Table)

    @property
    def line(self) -> Input:
        """The line to filter by."""
        return self.query_one(".filter", Input)

    def take_focus(self) -> None:
        """Let the keys go to the table."""
        self.table.focus()

    def reload(self) -> None:
        """Read the list anew."""
        self.run_worker(self._load(0.0), exclusive=True, group="load")

    @on(Input.Changed, ".filter")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.typed()

    @on(Input.Submitted, ".filter")
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.entered()

    @on(Table.NearEnd)
    def _near_end(self) -> None:
        if self._rest is not None:
            after, self._rest = self._rest, None
            self.run_worker(self._go_on(after), group="more")

    @on(Table.RowHighlighted)
    def _highlighted(self) -> None:
        self._show_detail()

    @on(Table.RowSelected)
    def _selected(self) -> None:
        row = self.table.current
        if row is not None:
            self.open(row)

    def open(self, row: Row) -> None:
        """Open what a line stands for."""
        self.app.open_row(row)

    def action_filter(self) -> None:
        """Go to the line to filter by."""
        self.line.display = True
        self.line.focus()

    def action_unfilter(self) -> None:
        """Take the filter away, or go back to where one came from."""
        if self.line.display:
            self.line.display = False
            self.table.focus()
            if self.line.value:
                self.line.value = ""
        else:
            self.app.go_back()

    def action_detail(self) -> None:
        """Show beside the list what is told of a line, or no longer."""
        detail = self.query_one(".detail")
        detail.display = not detail.display

    def action_copy(self) -> None:
        """Copy the id of the line."""
        row = self.table.current
        if row is not None and row.key:
            self.app.copy(row.key)

    def action_edit(self) -> None:
        """Open the file of the line in $EDITOR."""
        row = self.table.current
        if row is not None:
            self.app.edit(row.path)

    async def _load(self, pause: float) -> None:
        self._readings += 1
        await asyncio.sleep(pause)
        asked = self.asked()
        if self.NEEDS_MEMORIES and not self.app.stored:
            self._say_empty(self.app.nothing_stored)
            return
        self.query_one(".status", Plain).update("reading…")
        try:
            page = await self.app.reader.run(lambda memory: self.page(memory, asked, None))
        except RagmemError as error:
            self.table.fill([])
            self.query_one(".status", Plain).update(error.told)
            return
        rows = self._kept(page.rows, asked)
        self._rest, self._total, self._told = page.rest, page.total, page.told
        self.table.fill(rows)
        if not rows:
            self._say_empty(
                f"Nothing is like “{self.line.value}”. Escape takes the filter away."
                if self.line.value
                else self.EMPTY
            )
            return
        self.query_one(".split").display = True
        self.query_one(".empty").display = False
        self._say_status()
        self._show_detail()

    async def _go_on(self, after: Any) -> None:
        asked, reading = self.asked(), self._readings
        try:
            page = await self.app.reader.run(lambda memory: self.page(memory, asked, after))
        except RagmemError as error:
            self.query_one(".status", Plain).update(error.told)
            return
        if reading == self._readings:
            self._rest = page.rest
            self.table.more(self._kept(page.rows, asked))
            self._say_status()

    def _kept(self, rows: Sequence[Row], asked: FilterQuery) -> list[Row]:
        if self.FILTERED or not asked.text:
            return list(rows)
        return [row for row in rows if has_words(asked, (*row.cells, row.key, row.path))]

    def _say_empty(self, text: str) -> None:
        self.table.fill([])
        self.query_one(".split").display = False
        empty = self.query_one(".empty", Plain)
        empty.display = True
        empty.update(text)
        self.query_one(".status", Plain).update(self._told)

    def _say_status(self) -> None:
        shown = len(self.table.shown)
        total = self._total if self._total is not None else shown
        count = f"{shown:,} of {total:,}" if total > shown else f"{shown:,}"
        line = f"filter: {self.line.value}" if self.line.value else ""
        self.query_one(".status", Plain).update("   ".join(filter(None, (count, self._told, line))))

    def _show_detail(self) -> None:
        row = self.table.current
        self.query_one(".told", Plain).update(row.detail if row is not None else "")
