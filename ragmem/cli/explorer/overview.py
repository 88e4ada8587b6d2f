"""The first view: how much there is, where it comes from, how old it is, and what comes next."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.widgets import Static

from ragmem.catalog.listing import Filter, crossed, days
from ragmem.cli.common import plural, printable, size
from ragmem.cli.explorer.drawing import heading, painter, text_of
from ragmem.domain.model import State, Tier
from ragmem.domain.widths import fitted
from ragmem.errors import RagmemError
from ragmem.memory import Ragmem
from ragmem.services.plots.making import bars_of
from ragmem.services.plots.model import Plot, Row, Stacks, Strip
from ragmem.services.plots.terminal import lines

if TYPE_CHECKING:
    from ragmem.cli.explorer.app import Explorer

WEEKS = 52
"""Weeks of the strip of ages."""

TOP = 8
"""Lines of a chart."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the overview shows; empty where nothing is stored."""

    facts: Sequence[tuple[str, str]]
    plots: Sequence[Plot] = field(default_factory=tuple)


def numbers(memory: Ragmem, projects: tuple[str, ...] | None) -> Numbers:
    """Return what there is of these projects (None: of all); the store and its size are of all."""
    catalog = memory.catalog
    wanted = Filter(projects=projects)
    database = catalog.database
    tiers = crossed(database, "source", "tier", wanted)
    states = crossed(database, "state", "kind", wanted)
    count = sum(sum(one.values()) for one in states.values())
    found = memory.statistics()
    held = found["inbox"]
    kinds: dict[str, int] = {}
    for one in states.values():
        for kind, memories in one.items():
            kinds[kind] = kinds.get(kind, 0) + memories
    waiting = sum(states.get(State.PENDING.value, {}).values())
    total = found["catalog"]["total"]
    facts = [
        ("size", size(found["bytes"])),
        ("memories", f"{count:,}" + (f"; {waiting:,} wait for vectors" if waiting else "")),
        ("text", f"{size(total['characters'])} in {total['chunks']:,} chunks"),
        *((name.replace("_", " "), f"{value:,}") for name, value in found["store"].items()),
        ("models", str(found["models"])),
        ("archive", f"{catalog.archive.count():,}"),
        ("inbox", f"{held['waiting']:,} wait, {held['aside']:,} set aside"),
    ]
    parts = [tier.value for tier in Tier]
    return Numbers(
        facts,
        [
            Stacks(
                "Sources and their tiers",
                "memories",
                parts,
                [
                    Row(source, [one.get(part, 0) for part in parts])
                    for source, one in sorted(tiers.items(), key=lambda item: -sum(item[1].values()))[:TOP]
                ],
                "ingest: indexed whole; summarize: by a summary; discard: found by full text alone.",
                "source",
            ),
            _strip(days(database, wanted), datetime.now(tz=UTC).date()),
            bars_of(
                "Kinds",
                dict(sorted(kinds.items(), key=lambda item: -item[1])),
                counted="memories",
                named="kind",
            ),
        ],
    )


def _strip(found: Sequence[tuple[int, str, int]], today: date) -> Strip:
    """Return the weeks of the last year, oldest first, and how many memories are older."""
    start = today - timedelta(days=today.weekday() + 7 * (WEEKS - 1))
    weeks = [0] * WEEKS
    older = 0
    for day, _, count in found:
        week = (date(1970, 1, 1) + timedelta(days=day) - start).days // 7
        if week < 0:
            older += count
        else:
            weeks[min(week, WEEKS - 1)] += count
    cells = [((start + timedelta(weeks=number)).isoformat(), count) for number, count in enumerate(weeks)]
    note = f"{plural(older, 'memory is', 'memories are')} older." if older else ""
    return Strip("When it happened, in the last year", "memories", cells, "week", note)


class Overview(VerticalScroll):
    """Numbers and charts."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]

    app: "Explorer"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes="pane")
        self._numbers: Numbers | None = None

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Static("reading…", markup=False, classes="plain")

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
            self.query_one(Static).update(self._drawn(self._numbers))

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002 - Textual's
        """Fit the charts to the new width."""
        self.redraw()

    async def _load(self) -> None:
        if not self.app.stored:
            self.query_one(Static).update(self.app.nothing_stored)
            return
        projects = self.app.reader.projects
        try:
            self._numbers = await self.app.reader.run(lambda memory: numbers(memory, projects))
        except RagmemError as error:
            self.query_one(Static).update(error.told)
            return
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
