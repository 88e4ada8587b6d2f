"""How memories live: their states, what connects them, and what the next gc looks at; changes nothing."""

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize

from ragmem.api.memory import Ragmem
from ragmem.charts import chart_lines
from ragmem.charts.widths import fitted, padded
from ragmem.cli.explorer.drawing import heading, painter, text_of
from ragmem.cli.explorer.plain import Plain
from ragmem.errors import RagmemError
from ragmem.services.reporting.lifecycle_picture import sheet, where_of
from ragmem.services.reporting.lifecycle_report import LifecycleReport

if TYPE_CHECKING:
    from ragmem.cli.explorer.shell import Shell

LINES = 12
"""Lines of each list."""


class Lifecycle(VerticalScroll):
    """The report; p makes the plan of gc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "plan", "Plan gc"),
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]

    app: "Shell"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes="pane")
        self._report: LifecycleReport | None = None
        self._where = ""

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Plain("reading…", classes="plain")

    def on_mount(self) -> None:
        """Read the report."""
        self.reload()

    def take_focus(self) -> None:
        """Let the keys scroll."""
        self.focus()

    def reload(self) -> None:
        """Read the report anew."""
        self.run_worker(self._load(), exclusive=True, group="load")

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002 - Textual's
        """Fit the charts to the new width."""
        self.redraw()

    def redraw(self) -> None:
        """Draw anew for another width, or other colours."""
        if self._report is not None:
            self.query_one(Plain).update(self._drawn(self._report))

    async def _load(self) -> None:
        told = self.query_one(Plain)
        if not self.app.stored:
            told.update(self.app.nothing_stored)
            return
        projects = self.app.reader.projects

        def read(memory: Ragmem) -> tuple[LifecycleReport, dict[str, str]]:
            return memory.lifecycle_report(projects, limit=LINES), memory.catalog.projects.names()

        try:
            self._report, names = await self.app.reader.run(read)
        except RagmemError as error:
            told.update(error.told)
            return
        self._where = where_of(None if projects is None else [names.get(one, one) for one in projects])
        self.redraw()

    def _drawn(self, report: LifecycleReport) -> Text:
        width = max(chart_lines.NARROWEST, min(self.size.width - 6, chart_lines.WIDEST))
        drawn = sheet(report, self._where)
        told = [heading(drawn.title), *chart_lines.wrapped(drawn.told, width)]
        told += [
            heading(line) if line and not line.startswith(" ") else line
            for line in chart_lines.drawn(drawn, width=width, paint=painter(self.app.current_theme))
        ]
        if report.loners:
            told += ["", heading("Alone: what goes next, then what is looked at next")]
            told += [
                "  "
                + padded(
                    "goes" if one.action == "archive" else "now" if not one.left else f"after {one.left}", 10
                )
                + fitted(f"{one.title}  ({', '.join(one.reasons[:2])})", width - 12)
                for one in report.loners
            ]
        if report.runs:
            told += ["", heading("Runs of gc")]
            told += [
                fitted(
                    f"  {run.started:%Y-%m-%d %H:%M}  {run.caller}  "
                    + ", ".join(f"{name} {count:,}" for name, count in run.counts.items())
                    + ("  undone" if run.undone else ""),
                    width,
                )
                for run in report.runs
            ]
        told += ["", "p makes the plan of gc, and changes no memory: `ragmem gc` carries one out."]
        return text_of(told)

    def action_plan(self) -> None:
        """Show what gc would do."""
        from ragmem.cli.explorer.plan import PlanScreen

        if self.app.stored:
            self.app.push_screen(PlanScreen())
