"""The first view: how much there is, where it comes from, how old it is, and how it fades."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize

from ragmem.api.memory import Ragmem
from ragmem.charts.plots.model import Plot
from ragmem.charts.plots.terminal import lines
from ragmem.charts.widths import fitted
from ragmem.cli.common import printable, size
from ragmem.cli.explorer.drawing import heading, painter, text_of
from ragmem.cli.explorer.plain import Plain
from ragmem.domain.model import State
from ragmem.errors import RagmemError
from ragmem.storage.memories.listing import Filter, crossed

if TYPE_CHECKING:
    from ragmem.cli.explorer.shell import Shell

FIRST = ("tiers", "weeks")
LATER = ("ages", "decay", "degree")
"""Plots by their names, as `ragmem inspect plots` knows them; the later ones take a moment longer."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the overview shows; `facts` are a name and a value each."""

    facts: Sequence[tuple[str, str]]
    plots: Sequence[Plot]


def numbers(memory: Ragmem, projects: tuple[str, ...] | None) -> Numbers:
    """Return what there is of these projects (None: of all); the store, its size and texts are of all."""
    catalog = memory.catalog
    states = crossed(catalog.database, "state", "kind", Filter(projects=projects))
    count = sum(sum(one.values()) for one in states.values())
    waiting = sum(states.get(State.PENDING.value, {}).values())
    found = memory.statistics()
    held, total = found["inbox"], found["catalog"]["total"]
    facts = [
        ("size", size(found["bytes"])),
        ("memories", f"{count:,}" + (f"; {waiting:,} wait for vectors" if waiting else "")),
        ("text", f"{size(total['characters'])} in {total['chunks']:,} chunks"),
        *((name.replace("_", " "), f"{value:,}") for name, value in found["store"].items()),
        ("models", str(found["models"])),
        ("archive", f"{catalog.archive.count():,}"),
        ("inbox", f"{held['waiting']:,} wait, {held['aside']:,} set aside"),
    ]
    return Numbers(facts, list(memory.plots(FIRST, projects=projects).values()))


class Overview(VerticalScroll):
    """Numbers and charts."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]

    app: "Shell"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes="pane")
        self._numbers: Numbers | None = None

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Plain("reading…", classes="plain")

    def on_mount(self) -> None:
        """Read the numbers."""
        self.reload()

    def take_focus(self) -> None:
        """Let the keys scroll."""
        self.focus()

    def reload(self) -> None:
        """Read the numbers anew."""
        self.run_worker(self._load(), exclusive=True, group="load")

    def redraw(self) -> None:
        """Draw anew for another width, or other colours."""
        if self._numbers is not None:
            self.query_one(Plain).update(self._drawn(self._numbers))

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002 - Textual's
        """Fit the charts to the new width."""
        self.redraw()

    async def _load(self) -> None:
        if not self.app.stored:
            self.query_one(Plain).update(self.app.nothing_stored)
            return
        projects = self.app.reader.projects
        try:
            found = await self.app.reader.run(lambda memory: numbers(memory, projects))
            self._show(found)
            more = await self.app.reader.run(lambda memory: memory.plots(LATER, projects=projects))
        except RagmemError as error:
            self.query_one(Plain).update(error.told)
            return
        self._show(Numbers(found.facts, [*found.plots, *more.values()]))

    def _show(self, found: Numbers) -> None:
        self._numbers = found
        self.redraw()

    def _drawn(self, found: Numbers) -> Text:
        wide = max(len(name) for name, _ in found.facts)
        width = max(40, self.size.width - 6)
        told = [
            f"{heading(name.ljust(wide))}  {fitted(printable(value), width - wide - 2)}"
            for name, value in found.facts
        ]
        for plot in found.plots:
            first, *rest = lines(plot, width=width, paint=painter(self.app.current_theme))
            told += ["", heading(first), *rest]
        return text_of(told)
