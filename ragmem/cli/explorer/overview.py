"""The first view: the size of the memory, its sources, its age and its decay."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from ragmem.api.memory import Ragmem
from ragmem.charts.model import Plot
from ragmem.charts.widths import truncate
from ragmem.cli.common import printable, size
from ragmem.cli.explorer.chart_text import heading, plot_lines, text_of
from ragmem.cli.explorer.report import ReportPane
from ragmem.domain.model import State
from ragmem.storage.memories.memory_list import Filter, cross_count

FIRST = ("tiers", "weeks")
LATER = ("ages", "decay", "degree")
"""Names of plots, as in `ragmem inspect plots`; the later ones take longer."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The content of the overview; `facts` are pairs of a name and a value."""

    facts: Sequence[tuple[str, str]]
    plots: Sequence[Plot]


def numbers(memory: Ragmem, projects: tuple[str, ...] | None) -> Numbers:
    """Return the numbers of these projects (None: of all); size, text and store always count all projects."""
    catalog = memory.catalog
    states = cross_count(catalog.database, "state", "kind", Filter(projects=projects))
    count = sum(sum(one.values()) for one in states.values())
    waiting = sum(states.get(State.PENDING.value, {}).values())
    found = memory.reports.statistics()
    held, total = found["inbox"], found["catalog"]["total"]
    facts = [
        ("size", size(found["bytes"])),
        ("memories", f"{count:,}" + (f"; {waiting:,} wait for vectors" if waiting else "")),
        ("text", f"{size(total['characters'])} in {total['chunks']:,} chunks"),
        *((name.replace("_", " "), f"{value:,}") for name, value in found["store"].items()),
        ("models", str(found["models"])),
        ("archive", f"{catalog.archive.count():,}"),
        ("inbox", f"{held['waiting']:,} wait, {held['aside']:,} rejected"),
    ]
    return Numbers(facts, list(memory.reports.plots(FIRST, projects=projects).values()))


class Overview(ReportPane):
    """Numbers and charts."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self._numbers: Numbers | None = None

    async def read(self) -> None:
        """Read the numbers, and then the plots that take longer."""
        projects = self.app.reader.projects
        found = await self.app.reader.run(lambda memory: numbers(memory, projects))
        self._show(found)
        more = await self.app.reader.run(lambda memory: memory.reports.plots(LATER, projects=projects))
        self._show(Numbers(found.facts, [*found.plots, *more.values()]))

    def _show(self, found: Numbers) -> None:
        self._numbers = found
        self.redraw()

    def draw(self) -> Text | None:
        """Return the facts and the plots."""
        found = self._numbers
        if found is None:
            return None
        wide = max(len(name) for name, _ in found.facts)
        width = max(40, self.size.width - 6)
        text = [
            f"{heading(name.ljust(wide))}  {truncate(printable(value), width - wide - 2)}"
            for name, value in found.facts
        ]
        text += plot_lines(found.plots, width=width, theme=self.app.current_theme)
        return text_of(text)
