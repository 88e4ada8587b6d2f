"""The screen of one memory: its rendered text, and tabs with everything known about it."""

from io import StringIO
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.table import Table as Grid
from rich.text import Text
from rich.theme import Theme as Styles
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.theme import Theme
from textual.widgets import TabPane

from ragmem.cli.common import moment, printable
from ragmem.cli.explorer.connections import LINKED_COLUMNS, linked_row
from ragmem.cli.explorer.entities import entity_key
from ragmem.cli.explorer.memory_detail import MemoryDetail, read_detail, score_of
from ragmem.cli.explorer.shell import Plain
from ragmem.cli.explorer.table import Column, Row, Table
from ragmem.cli.explorer.tabs import TabbedScreen
from ragmem.domain.model import Match
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import RagmemError

NARROWEST, WIDEST = 20, 110
"""Minimum and maximum columns of a page: longer lines are hard to read."""

LINKS = 500
"""Maximum number of connections in the list."""

NO_SCORE = "Scores depend on a question: run a query in Search, and open this memory there."


class MemoryScreen(TabbedScreen):
    """One memory; Enter on a connection or an entity goes there."""

    TABS: ClassVar[tuple[str, ...]] = ("text", "facts", "score", "connections", "entities", "history")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", "Edit file")]

    def __init__(self, identifier: str, *, match: Match | None = None, tab: str = "") -> None:
        super().__init__(tab=tab)
        self.identifier = identifier
        self._match = match
        self._whole: MemoryDetail | None = None

    def panes(self) -> ComposeResult:
        """Yield the tabs."""
        with TabPane("1 Text", id="text"), VerticalScroll():
            yield Plain(classes="plain", id="page")
        with TabPane("2 Facts", id="facts"), VerticalScroll():
            yield Plain(classes="plain", id="fact-lines")
        with TabPane("3 Score", id="score"), VerticalScroll():
            yield Plain(classes="plain", id="score-lines")
        with TabPane("4 Connections", id="connections"):
            yield Table(LINKED_COLUMNS, id="links")
        with TabPane("5 Entities", id="entities"):
            yield Table((Column("entity"),), id="names")
        with TabPane("6 History", id="history"):
            yield Table((Column("at", 20), Column("what", 11), Column("detail")), id="happenings")

    def on_mount(self) -> None:
        """Read the memory."""
        self.run_worker(self._load(), exclusive=True)

    async def _load(self) -> None:
        redactor = self.app.reader.memory.redactor
        try:
            found = await self.app.reader.run(lambda memory: read_detail(memory, self.identifier))
        except RagmemError as error:
            self.tell("…", error.full_message)
            return
        self._whole = found
        memory = found.memory
        self.tell(
            found.title,
            f"{memory.short_id}  {memory.event_time:%Y-%m-%d}  {memory.kind.value}  {memory.provenance}"
            f"  {memory.tier.value}  {memory.state.value}",
        )
        self._fill(found, redactor=redactor)
        self.take_focus()
        await self._draw()

    async def _draw(self) -> None:
        """Lay out the text for the present width."""
        found = self._whole
        if found is None:
            return
        text = found.text
        if found.cut:
            text += (
                f"\n\n---\n\n{found.cut:,} more characters: `ragmem inspect memory {found.memory.short_id}`"
            )
        width, theme = self.size.width - 6, self.app.current_theme
        drawn = await self.app.reader.run(lambda _: page(text, width=width, theme=theme))
        self.query_one("#page", Plain).update(drawn)

    def redraw(self) -> None:
        """Lay out the text again, for another width or other colours."""
        self.run_worker(self._draw(), exclusive=True, group="draw")

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002 - Textual's
        """Fit the text to the new width."""
        self.redraw()

    def _fill(self, found: MemoryDetail, redactor: Redactor) -> None:
        facts = Grid.grid(padding=(0, 2, 0, 0))
        facts.add_column(no_wrap=True)
        facts.add_column(overflow="fold")
        for name, value in found.facts:
            facts.add_row(Text(printable(name), style="bold"), Text(printable(value)))
        self.query_one("#fact-lines", Plain).update(facts)
        score = NO_SCORE if self._match is None else score_of(self._match, redactor=redactor)
        self.query_one("#score-lines", Plain).update(score)
        project = found.memory.scope.project
        self.table("links").fill([linked_row(one, redactor=redactor) for one in found.links[:LINKS]])
        self.table("names").fill(
            [
                Row((redactor.redact(name)[0],), key=name, opens=("entity", entity_key(project, name)))
                for name in found.entities
            ]
        )
        self.table("happenings").fill(
            [Row((moment(one.at), one.what, redactor.redact(one.detail)[0])) for one in found.history]
        )
        self.count("connections", len(found.links))
        self.count("entities", len(found.entities))
        self.count("history", len(found.history))

    def own_key(self) -> str:
        """Return the memory's id."""
        return self._whole.memory.short_id if self._whole is not None else ""

    def action_edit(self) -> None:
        """Open the memory's file in $EDITOR."""
        if self._whole is not None:
            self.app.edit(self._whole.memory.uri)


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
