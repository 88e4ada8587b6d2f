"""The plan of gc, with the rule and the reason of each decision; it is not carried out here."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from ragmem.api.memory import Ragmem
from ragmem.cli.common import plural, shorten_home
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.plain import Plain
from ragmem.cli.explorer.reader import ClosingError
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.lifecycle.items import Item, Plan
from ragmem.services.lifecycle.plan_clusters import MOST_DIFFERENCES, PlanCluster

if TYPE_CHECKING:
    from ragmem.cli.explorer.shell import Shell

COMPARED = 200
"""Largest number of clusters whose texts are compared for the details."""

BUDGET_S = 60.0
"""Seconds for comparing memories that were not compared yet; the next plan continues."""

TITLE = "The plan of gc; only `ragmem gc` executes it"


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
