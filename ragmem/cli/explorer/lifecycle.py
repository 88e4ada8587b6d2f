"""The lifecycle of memories, and the plan of gc with its rules and reasons; it is not carried out here."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from ragmem.api.memory import Ragmem
from ragmem.charts.terminal import NARROWEST, WIDEST
from ragmem.charts.widths import pad, truncate, wrap
from ragmem.cli.common import local_minute, plural, shorten_home
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.reader import ClosingError
from ragmem.cli.explorer.report import ReportPane, heading, plot_lines, text_of
from ragmem.cli.explorer.shell import Plain
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.lifecycle.items import Item, Plan
from ragmem.services.lifecycle.plan_clusters import MOST_DIFFERENCES, PlanCluster
from ragmem.services.reporting.lifecycle_picture import format_projects, sheet
from ragmem.services.reporting.lifecycle_report import LifecycleReport

if TYPE_CHECKING:
    from ragmem.cli.explorer.shell import Shell

LINES = 12
"""Lines of each list."""

COMPARED = 200
"""Largest number of clusters whose texts are compared for the details."""

BUDGET_S = 60.0
"""Seconds for comparing memories that were not compared yet; the next plan continues."""

TITLE = "The plan of gc; only `ragmem gc` executes it"


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
        if self.app.stored:
            self.app.push_screen(PlanScreen())


class PlanList(ListPane):
    """The decisions that change something, and memories that another rule would have removed."""

    COLUMNS = (
        Column("action", 10),
        Column("rule", 13),
        Column("memory"),
        Column("because", least=90),
        Column("id", 12, least=120),
    )
    KEYS: ClassVar[tuple[str, ...]] = ("action", "rule")
    HINT = "words, action:archive rule:template"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "unfilter", "Back")]
    UNIT = ("decision",)
    EMPTY = "gc has nothing to do."

    def __init__(self) -> None:
        super().__init__()
        self._plan: Plan | None = None
        self._told: dict[str, list[str]] = {}
        self.summary = ""

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Make the plan once for all filters; this also makes missing connections."""
        if self._plan is None:
            try:
                self._plan = memory.gc.plan(
                    projects=self.app.reader.projects, budget_s=BUDGET_S, progress=self.app.reader
                )
            except ClosingError:
                return Page(())
            clusters = memory.gc.clusters(self._plan, most=COMPARED)
            self._told = dict(pair for one in clusters for pair in _differences(one, memory.redactor))
        plan = self._plan
        items = [item for item in plan.items if item.action != "keep" or item.others or item.life]
        for key in ("action", "rule"):
            wanted = query.of(key)
            items = [item for item in items if not wanted or getattr(item, key) in wanted]
        counts = plan.counts()
        summed = [f"{action} by {rule} {count:,}" for (action, rule), count in counts]
        left = plan.searched - plan.removal_count
        summed.append(f"searched {plan.searched:,} now, {left:,} afterwards")
        if plan.uncompared:
            summed.append(f"{plan.uncompared:,} not compared yet")
        self.summary = ", ".join(summed)
        return Page(
            [
                _row(item, self._told.get(item.id, ()), redactor=memory.redactor)
                for item in sorted(items, key=lambda one: one.action == "keep")
            ]
        )

    def reload(self) -> None:
        """Make the plan again."""
        self._plan = None
        super().reload()

    async def _load(self, pause: float) -> None:
        await super()._load(pause)
        self.screen.query_one(".title", Plain).update(f"{TITLE}\n{self.summary}")

    def values(self) -> dict[str, list[str]]:
        """Return the actions and rules of the plan."""
        items = self._plan.items if self._plan is not None else ()
        return {"action": sorted({one.action for one in items}), "rule": sorted({one.rule for one in items})}


def _differences(cluster: PlanCluster, redactor: Redactor) -> Iterator[tuple[str, list[str]]]:
    """Yield the first hidden memories of a cluster: what they share with the one that stays, and what not."""
    kept = cluster.kept
    for one in cluster.hidden[:MOST_DIFFERENCES]:
        lines = [f"stays: {kept.event_time:%Y-%m-%d}  {kept.short_id}  {kept.title or kept.uri}"]
        lines += [f"both say: {cluster.statement}"] if cluster.statement else []
        lines += [
            f"differs: {part.other} -> {part.first or '(nothing)'}"
            for part in one.differences[:MOST_DIFFERENCES]
        ]
        lines += [f"the kept one says {plural(one.words_more, 'word')} more"] if one.words_more else []
        yield one.memory.id, [redactor.redact(line)[0] for line in lines]


def _row(item: Item, told: Sequence[str], redactor: Redactor) -> Row:
    name = redactor.redact(item.title or item.uri)[0]
    others = ", ".join(other[:SHORT_ID_LENGTH] for other in item.others)
    lines = [
        name,
        f"{item.action}, {item.rule}",
        redactor.redact(item.reason)[0],
        shorten_home(redactor.redact(item.uri)[0]),
    ]
    if told:
        lines += ["", *told]
    elif others:
        lines.append(f"with {others}")
    key = item.id[:SHORT_ID_LENGTH]
    return Row(
        (item.action, item.rule, name, redactor.redact(item.reason)[0], key),
        key=key,
        opens=("memory", item.id),
        path=item.uri,
        detail="\n".join(lines),
    )


class PlanScreen(Screen[None]):
    """The plan of gc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("backspace,escape", "app.pop_screen", show=False)]

    app: "Shell"

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Plain(TITLE, classes="title")
        yield PlanList()
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Focus the list."""
        self.query_one(PlanList).take_focus()
