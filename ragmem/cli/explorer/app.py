"""The application of the explorer: a list of views, and the functions that all views share."""

import importlib
import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.theme import Theme
from textual.widgets import ContentSwitcher, Footer, OptionList
from textual.widgets.option_list import Option
from textual.worker import WorkerFailed

from ragmem.api.memory import Ragmem
from ragmem.charts.widths import truncate
from ragmem.cli.common import printable, shorten_home
from ragmem.cli.explorer.reader import Reader
from ragmem.cli.explorer.shell import Plain, Shell
from ragmem.cli.explorer.table import Row
from ragmem.domain.model import Kind, Match, State, Tier
from ragmem.domain.records.record_types import RecordType
from ragmem.errors import RagmemError

KEYS = """\
Go
  1 … 9, 0   a view by its number; [ and ] the one before and after
  Tab        from the list of views to the view, and back
  ↑ ↓ j k    line by line; g and G to the first and the last
  Enter      open what is under the cursor
  Escape     go back, or clear the filter

In a list
  /          filter: words, and kind: source: project: state: tier:
  →          accept the completion of the filter
  c          copy the id
  d          show or hide the details of a line
  e          open the file in $EDITOR
  y n        accept or reject a memory that others share

In a memory or an entity
  1 … 6      a tab by its number; [ and ] the one before and after
  Enter      open a connection, an entity or a memory

Everywhere
  a          all projects, or this one and yours
  r          reload
  t          light or dark
  ?          these keys
  q          quit

The explorer changes no memory of yours. Every view is a command as well, with --json:
ragmem inspect --help
"""


@dataclass(frozen=True, slots=True)
class View:
    """A view: its id, the key that shows it, and the module of its widget if that is not the id."""

    id: str
    key: str
    module: str = ""

    @property
    def label(self) -> str:
        """Its line in the list of views."""
        return f"{self.key or ' '} {self.id.capitalize()}"

    def widget(self) -> Any:
        """Return a new widget."""
        module = importlib.import_module(f"ragmem.cli.explorer.{self.module or self.id}")
        return getattr(module, self.id.capitalize())(id=self.id)


LISTS = "lists"
"""The module of several small views."""

VIEWS = tuple(
    View(*one)
    for one in (
        ("overview", "1"),
        ("sources", "2", LISTS),
        ("memories", "3"),
        ("search", "4"),
        ("entities", "5"),
        ("connections", "6"),
        ("lifecycle", "7"),
        ("queue", "8", LISTS),
        ("injections", "9", LISTS),
        ("records", "0", LISTS),
        ("approvals", "", LISTS),
        ("shared", ""),
        ("transcripts", "", LISTS),
        ("agents", "", LISTS),
        ("log", "", LISTS),
    )
)

NOTHING_STORED = """\
Nothing is stored here yet.

  ragmem seed             indexes the sources in sources.toml
  ragmem ingest FILE      stores a file, a folder or standard input
  ragmem connect          connects an assistant

Then press r to reload."""

MARK = "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}"
"""Marks the current view, and separates the steps of the breadcrumbs."""

CRUMB = 30
"""Maximum length of a step of the breadcrumbs."""


class Explorer(Shell):
    """Shows one memory, which `reader` queries in threads."""

    CSS_PATH = "styles.tcss"
    TITLE = "ragmem"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 - as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-short"), (36, "-tall")]  # noqa: RUF012 - as Textual declares it

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(view.key, f"view('{view.id}')", show=False) for view in VIEWS if view.key),
        Binding("left_square_bracket", "step(-1)", show=False),
        Binding("right_square_bracket", "step(1)", show=False),
        Binding("a", "scope", "Projects"),
        Binding("r", "reload", "Reload", show=False),
        Binding("t", "theme", "Theme", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q,ctrl+c", "quit", "Quit"),
    ]

    def __init__(self, reader: Reader, *, light: bool = False) -> None:
        # With NO_COLOR Textual turns colours into greys, except the terminal's own, which it leaves out.
        super().__init__(ansi_color=bool(os.environ.get("NO_COLOR")) or None)
        self.reader = reader
        self.stored = reader.memory.catalog.exists()
        self.nothing_stored = NOTHING_STORED
        self.known: Mapping[str, Iterable[str]] = {}
        self._count = 0
        self._where = "all projects"
        self._here: tuple[str, ...] | None = None
        self.register_theme(_DARK)
        self.register_theme(_LIGHT)
        self.theme = _LIGHT.name if light else _DARK.name
        # Nothing may be written past the screen, not even that another process is waited for.
        reader.memory.catalog.announce = self._announce

    def compose(self) -> ComposeResult:
        """Lay out the main screen."""
        yield Plain(id="head")
        with Horizontal(id="body"):
            yield OptionList(*(Option(view.label, id=view.id) for view in VIEWS), id="views")
            yield ContentSwitcher(id="switch")
        yield Footer(compact=True)

    async def on_mount(self) -> None:
        """Show the first view."""
        self._say_head()
        await self.show(VIEWS[0].id)
        self.run_worker(self._learn(), exclusive=True, group="learn")

    @property
    def trouble(self) -> Exception | None:
        """The error that ended the explorer, if any."""
        error = self._exception
        return error.error if isinstance(error, WorkerFailed) else error  # type: ignore[return-value]

    def _fatal_error(self) -> None:
        """Leave the screen; the caller reports the error, without the values of local variables."""
        self._close_messages_no_wait()

    def _announce(self, told: str) -> None:
        self.notify(told)  # may be called from any thread

    def notify(self, message: str, **how: Any) -> None:
        """Show a notification, without markup."""
        super().notify(printable(message), **(how | {"markup": False}))

    @property
    def main(self) -> Any:
        """The screen of the views, even if another screen covers it."""
        return self.screen_stack[0]

    async def show(self, name: str) -> Any:
        """Show a view and return its widget, which is made at the first time."""
        switch = self.main.query_one("#switch", ContentSwitcher)
        found = switch.query(f"#{name}")
        if found:
            pane: Any = found.first()
        else:
            pane = next(view for view in VIEWS if view.id == name).widget()
            await switch.mount(pane)
        switch.current = name
        views = self.main.query_one("#views", OptionList)
        place = views.get_option_index(name)
        if views.highlighted != place:
            views.highlighted = place
        for view in VIEWS:
            mark = MARK if view.id == name else " "
            views.replace_option_prompt(view.id, f"{mark}{view.label}")
        pane.take_focus()
        return pane

    @on(OptionList.OptionSelected, "#views")
    async def _handle_choice(self, event: OptionList.OptionSelected) -> None:
        await self.show(str(event.option_id))

    async def action_view(self, name: str) -> None:
        """Show a view by its key."""
        if len(self.screen_stack) == 1:
            await self.show(name)

    async def action_step(self, steps: int) -> None:
        """Show the previous or the next view."""
        if len(self.screen_stack) > 1:
            return
        names = [view.id for view in VIEWS]
        current = self.main.query_one("#switch", ContentSwitcher).current
        await self.show(names[(names.index(current) + steps) % len(names)])

    def action_scope(self) -> None:
        """Switch between all projects, and this one with the user's."""
        if self._here is None:
            self.notify("not in a project: all projects are shown")
            return
        self.reader.toggle(self._here)
        self._say_head()
        self._reload_all()
        self.run_worker(self._learn(), exclusive=True, group="learn")

    def action_reload(self) -> None:
        """Reload all views."""
        self.stored = self.reader.memory.catalog.exists()
        self._reload_all()
        self.run_worker(self._learn(), exclusive=True, group="learn")

    def _reload_all(self) -> None:
        pane: Any
        for screen in self.screen_stack:
            for pane in screen.query(".pane"):
                pane.reload()

    def action_theme(self) -> None:
        """Switch between the dark and the light theme."""
        self.theme = _LIGHT.name if self.theme == _DARK.name else _DARK.name
        for shown in (*self.main.query("Overview, Lifecycle"), *self.screen_stack):
            if hasattr(shown, "redraw"):
                shown.redraw()

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen())

    def go_back(self) -> None:
        """Go back to the previous screen, or to the list of views."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.main.query_one("#views").focus()

    def way(self) -> str:
        """Return the screens that led to this one."""
        crumbs = [screen.crumb for screen in self.screen_stack if hasattr(screen, "crumb")]
        *before, last = crumbs or [""]
        return f" {MARK} ".join([*(truncate(one, CRUMB) for one in before[-3:]), last])

    def open_row(self, row: Row) -> None:
        """Open the screen of the item in a row."""
        if row.opens is None:
            return
        sort, key = row.opens
        if sort == "entity":
            from ragmem.cli.explorer.entity import EntityScreen

            self.push_screen(EntityScreen(key))
        elif sort == "source":
            self.run_worker(self._of_source(key))
        else:
            from ragmem.cli.explorer.memory import MemoryScreen

            match = row.data if isinstance(row.data, Match) else None
            self.push_screen(MemoryScreen(key, match=match, tab=sort if sort == "connections" else ""))

    async def _of_source(self, name: str) -> None:
        pane = await self.show("memories")
        pane.line.display = True
        shown = printable(name)
        pane.line.value = f'source:"{shown}"' if " " in shown else f"source:{shown}"
        pane.take_focus()

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard, if the terminal allows it."""
        if text:
            self.copy_to_clipboard(text)
            self.notify(f"copied {text}", timeout=2)

    def edit(self, path: str) -> None:
        """Open a file in the person's editor; return if there is none."""
        # Blank values count as unset: else the memory's file itself would be run.
        named = (os.environ.get(name, "").strip() for name in ("VISUAL", "EDITOR"))
        editor = next(filter(None, named), "")
        place = _file_of(path)
        if place is None:
            self.notify("it has no file on this machine")
        elif not editor:
            self.notify(f"set EDITOR to open {place}")
        else:
            self._edit(editor, place)

    def _edit(self, editor: str, place: Path) -> None:
        try:
            with self.suspend():
                subprocess.run([*shlex.split(editor), str(place)], check=False)  # noqa: S603 - the person's own
        except (OSError, ValueError, SuspendNotSupported) as error:
            self.notify(f"{editor} cannot be run: {error}", severity="error")
        self.refresh()

    async def _learn(self) -> None:
        if not self.stored:
            return
        try:
            self.known, self._count, self._here = await self.reader.run(_filter_values)
        except RagmemError as error:
            self.notify(error.full_message, severity="error")
            return
        projects = self.reader.projects
        self._where = "all projects" if projects is None else "this project and yours"
        self._say_head()

    def _say_head(self) -> None:
        count = f"{self._count:,} memories" if self.stored else "empty"
        home = shorten_home(str(self.reader.memory.settings.places.data))
        self.main.query_one("#head", Plain).update(f"ragmem   {count}   {self._where}   {home}")


def _file_of(path: str) -> Path | None:
    """Return the file of a memory, without the place in it (`notes.jsonl#3`); None if there is none."""
    for name in (path, path.rpartition("#")[0]):
        place = Path(name)
        # A relative path has no known base, and one that begins with a dash would be an option.
        if name and "\0" not in name and place.is_absolute() and place.is_file():
            return place
    return None


def _filter_values(memory: Ragmem) -> tuple[dict[str, list[str]], int, tuple[str, ...] | None]:
    """Return the values that filters complete, the number of memories, and the present project."""
    overview = memory.catalog.overview
    names = memory.catalog.projects.names()
    counts = overview.count_by("project")
    values = {
        "kind": [kind.value for kind in Kind],
        "state": [state.value for state in State],
        "tier": [tier.value for tier in Tier],
        "type": [one.value for one in RecordType],
        "source": list(overview.count_by("source")),
        "project": [names.get(one, one) for one in counts],
    }
    # The filter line cannot show control characters.
    values = {key: [one for one in found if one.isprintable()] for key, found in values.items()}
    return values, sum(counts.values()), memory.projects.default()


_DARK = Theme(
    name="ragmem-dark",
    dark=True,
    primary="#8fb8de",
    secondary="#9aa5b1",
    accent="#c4a7e7",
    success="#9ccf9c",
    warning="#e0bd7d",
    error="#e09a9a",
    foreground="#d8dce3",
    background="#14171c",
    surface="#181c22",
    panel="#222831",
    variables={"footer-key-foreground": "#8fb8de", "block-cursor-background": "#33485f"}
    | {"block-cursor-foreground": "#f2f5f9", "block-cursor-blurred-background": "#262e38"},
)
_LIGHT = Theme(
    name="ragmem-light",
    dark=False,
    primary="#245c8a",
    secondary="#5a6570",
    accent="#6b4a9e",
    success="#2f6f3e",
    warning="#85600f",
    error="#a13c3c",
    foreground="#20252b",
    background="#fbfaf7",
    surface="#f6f4ef",
    panel="#e9e6de",
    variables={"footer-key-foreground": "#245c8a", "block-cursor-background": "#cfe0ee"}
    | {"block-cursor-foreground": "#12181f", "block-cursor-blurred-background": "#e3e8ec"},
)


class HelpScreen(ModalScreen[None]):
    """The keys; any of Escape, q and ? closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        with VerticalScroll(id="help"):
            yield Plain(KEYS)

    def on_mount(self) -> None:
        """Let the keys scroll."""
        self.query_one("#help").focus()
