"""The lifecycle of memories: their states, their connections, and the candidates of the next gc."""

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from ragmem.api.memory import Ragmem
from ragmem.charts.terminal import NARROWEST, WIDEST
from ragmem.charts.widths import pad, truncate, wrap
from ragmem.cli.common import local_minute
from ragmem.cli.explorer.chart_text import heading, plot_lines, text_of
from ragmem.cli.explorer.report import ReportPane
from ragmem.services.reporting.lifecycle_picture import format_projects, sheet
from ragmem.services.reporting.lifecycle_report import LifecycleReport

LINES = 12
"""Lines of each list."""


class Lifecycle(ReportPane):
    """The report; p makes the plan of gc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("p", "plan", "Plan gc")]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self._report: LifecycleReport | None = None
        self._where = ""

    async def read(self) -> None:
        """Read the report."""
        projects = self.app.reader.projects

        def read(memory: Ragmem) -> tuple[LifecycleReport, dict[str, str]]:
            report = memory.reports.lifecycle(projects, limit=LINES, members=0)
            return report, memory.catalog.projects.names()

        self._report, names = await self.app.reader.run(read)
        self._where = format_projects(None if projects is None else [names.get(one, one) for one in projects])
        self.redraw()

    def draw(self) -> Text | None:
        """Return the charts, the loners and the runs of gc."""
        report = self._report
        if report is None:
            return None
        width = max(NARROWEST, min(self.size.width - 6, WIDEST))
        charts = sheet(report, self._where)
        text = [heading(charts.title), *wrap(charts.summary, width)]
        text += plot_lines(charts.plots, width=width, theme=self.app.current_theme)
        if report.loners:
            text += ["", heading("Isolated memories: next to be archived, then next to be reviewed")]
            text += [
                "  "
                + pad(
                    "goes" if one.action == "archive" else "now" if not one.left else f"after {one.left}", 10
                )
                + truncate(f"{one.title}  ({', '.join(one.reasons[:2])})", width - 12)
                for one in report.loners
            ]
        if report.runs:
            text += ["", heading("Runs of gc")]
            text += [
                truncate(
                    f"  {local_minute(run.started)}  {run.caller}  "
                    + ", ".join(f"{name} {count:,}" for name, count in run.counts.items())
                    + ("  undone" if run.undone else ""),
                    width,
                )
                for run in report.runs
            ]
        text += ["", "p shows the plan of gc and changes nothing; `ragmem gc` executes it."]
        return text_of(text)

    def action_plan(self) -> None:
        """Show what gc would do."""
        from ragmem.cli.explorer.plan import PlanScreen

        if self.app.stored:
            self.app.push_screen(PlanScreen())
