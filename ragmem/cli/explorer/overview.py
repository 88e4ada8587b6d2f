"""The first view: the size of the memory, its sources, its age and its decay."""

from collections.abc import Sequence

from rich.text import Text

from ragmem.api.memory import Ragmem
from ragmem.charts.model import Plot
from ragmem.charts.widths import truncate
from ragmem.cli.common import printable, size
from ragmem.cli.explorer.report import ReportPane, heading, plot_lines, text_of
from ragmem.domain.model import State
from ragmem.storage.memories.memory_list import Filter, cross_count

FIRST = ("tiers", "weeks")
LATER = ("ages", "decay", "degree")
"""Names of plots, as in `ragmem inspect plots`; the later ones take longer."""


def facts_of(memory: Ragmem, projects: tuple[str, ...] | None) -> list[tuple[str, str]]:
    """Return names and values of these projects (None: of all); only the memories are not of all projects."""
    catalog = memory.catalog
    states = cross_count(catalog.database, "state", "kind", Filter(projects=projects))
    count = sum(sum(one.values()) for one in states.values())
    waiting = sum(states.get(State.PENDING.value, {}).values())
    found = memory.reports.statistics()
    held, total = found["inbox"], found["catalog"]["total"]
    return [
        ("size", size(found["bytes"])),
        ("memories", f"{count:,}" + (f"; {waiting:,} wait for vectors" if waiting else "")),
        ("text", f"{size(total['characters'])} in {total['chunks']:,} chunks"),
        *((name.replace("_", " "), f"{value:,}") for name, value in found["store"].items()),
        ("models", str(found["models"])),
        ("archive", f"{catalog.archive.count():,}"),
        ("inbox", f"{held['waiting']:,} wait, {held['aside']:,} rejected"),
    ]


class Overview(ReportPane):
    """Numbers and charts."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self._facts: Sequence[tuple[str, str]] = ()
        self._plots: list[Plot] = []

    async def read(self) -> None:
        """Read the facts, and then the plots, last those that take longer."""
        run, projects = self.app.reader.run, self.app.reader.projects
        self._facts = await run(lambda memory: facts_of(memory, projects))
        self._plots = list(
            (await run(lambda memory: memory.reports.plots(FIRST, projects=projects))).values()
        )
        self.redraw()
        self._plots += (await run(lambda memory: memory.reports.plots(LATER, projects=projects))).values()
        self.redraw()

    def draw(self) -> Text | None:
        """Return the facts and the plots."""
        if not self._facts:
            return None
        wide = max(len(name) for name, _ in self._facts)
        width = max(40, self.size.width - 6)
        text = [
            f"{heading(name.ljust(wide))}  {truncate(printable(value), width - wide - 2)}"
            for name, value in self._facts
        ]
        text += plot_lines(self._plots, width=width, theme=self.app.current_theme)
        return text_of(text)
