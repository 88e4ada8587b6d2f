"""The base of the screens of a memory and of an entity: a title, tabs, and navigation."""

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, TabbedContent

from ragmem.cli.explorer.shell import Plain
from ragmem.cli.explorer.table import Table

if TYPE_CHECKING:
    from ragmem.cli.explorer.shell import Shell


class TabbedScreen(Screen[None]):
    """A title and tabs, which a subclass names in TABS and fills; Escape goes back."""

    TABS: ClassVar[tuple[str, ...]] = ()

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.pop_screen", "Back"),
        Binding("right_square_bracket", "turn(1)", "Next tab", key_display="]"),
        Binding("left_square_bracket", "turn(-1)", show=False),
        *(Binding(str(number), f"tab({number})", show=False) for number in range(1, 7)),
        Binding("c", "copy", "Copy id"),
    ]

    app: "Shell"

    def __init__(self, *, tab: str = "") -> None:
        super().__init__()
        self._tab = tab or self.TABS[0]
        self.crumb = "…"

    def panes(self) -> ComposeResult:
        """Yield the tabs."""
        raise NotImplementedError

    def own_key(self) -> str:
        """Return the key to copy if no row is under the cursor."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Plain("reading…", classes="title")
        with TabbedContent(initial=self._tab):
            yield from self.panes()
        yield Footer(compact=True)

    def tell(self, crumb: str, told: str) -> None:
        """Show the breadcrumbs and a line about the item."""
        self.crumb = " ".join(crumb.split())
        self.query_one(".title", Plain).update(f"{self.app.way()}\n{told}")

    def count(self, name: str, number: int) -> None:
        """Show the number of items in the title of a tab."""
        place = self.TABS.index(name) + 1
        self.query_one(TabbedContent).get_tab(name).label = f"{place} {name.capitalize()} {number:,}"

    def table(self, name: str) -> Table:
        """Return the table of this id."""
        return self.query_one(f"#{name}", Table)

    def take_focus(self) -> None:
        """Focus the content of the tab."""
        pane = self.query_one(TabbedContent).active_pane
        if pane is not None:
            pane.query("Table, VerticalScroll").first().focus()

    @on(TabbedContent.TabActivated)
    def _handle_tab_change(self) -> None:
        self.take_focus()

    @on(Table.RowSelected)
    def _handle_selection(self, event: Table.RowSelected) -> None:
        table = event.data_table
        if isinstance(table, Table) and table.current is not None:
            self.app.open_row(table.current)

    def action_tab(self, number: int) -> None:
        """Show a tab by its number."""
        if number <= len(self.TABS):
            self.query_one(TabbedContent).active = self.TABS[number - 1]

    def action_turn(self, steps: int) -> None:
        """Show the next or the previous tab."""
        tabs = self.query_one(TabbedContent)
        tabs.active = self.TABS[(self.TABS.index(tabs.active) + steps) % len(self.TABS)]

    def action_copy(self) -> None:
        """Copy the id of the row under the cursor, else of the item on this screen."""
        row = self.focused.current if isinstance(self.focused, Table) else None
        self.app.copy(row.key if row is not None and row.key else self.own_key())
