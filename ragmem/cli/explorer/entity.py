"""The screen of one entity: the memories that mention it, its neighbours, and its description."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import TabPane

from ragmem.cli.explorer.entities import alias_line, entity_key
from ragmem.cli.explorer.shell import Plain
from ragmem.cli.explorer.table import Column, Row, Table
from ragmem.cli.explorer.tabs import TabbedScreen
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import RagmemError
from ragmem.services.graph.evidence import Quotation
from ragmem.services.graph.views import EntityView, Neighbour

MOST = 200
"""Maximum number of memories and of neighbours in the lists."""


class EntityScreen(TabbedScreen):
    """One entity of one project; Enter goes to a memory or a neighbour."""

    TABS: ClassVar[tuple[str, ...]] = ("memories", "neighbours", "said")

    def __init__(self, key: str) -> None:
        super().__init__()
        self._project, _, self._entity = key.partition("\n")

    def panes(self) -> ComposeResult:
        """Yield the tabs."""
        with TabPane("1 Memories", id="memories"):
            yield Table(
                (
                    Column("date", 10),
                    Column("sentence"),
                    Column("title", 30, least=100),
                    Column("id", 12, least=80),
                ),
                id="told",
            )
        with TabPane("2 Neighbours", id="neighbours"):
            yield Table(
                (
                    Column("entity", 26),
                    Column("weight", 6, right=True),
                    Column("type", 12, least=80),
                    Column("relation"),
                ),
                id="near",
            )
        with TabPane("3 Sentences", id="said"), VerticalScroll():
            yield Plain(classes="plain", id="said-lines")

    def on_mount(self) -> None:
        """Read the entity."""
        self.run_worker(self._load(), exclusive=True)

    async def _load(self) -> None:
        redactor = self.app.reader.memory.redactor
        try:
            views = await self.app.reader.run(
                lambda memory: memory.graph([self._project]).entity(self._entity, limit=MOST)
            )
        except RagmemError as error:
            self.tell(redactor.redact(self._entity)[0], error.full_message)
            return
        self._fill(views[0], redactor=redactor)
        self.take_focus()

    def _fill(self, view: EntityView, redactor: Redactor) -> None:
        place = view.place
        facts = [place.entity.type, f"{place.degree:,} relations"]
        if view.memories is not None:
            facts.append(f"in {view.memories:,} memories")
        if place.aliases:
            facts.append(alias_line(place, redactor=redactor))
        self.tell(redactor.redact(place.entity.name)[0], ", ".join(facts))
        self.table("told").fill([_evidence_row(one, redactor=redactor) for one in view.quotations])
        self.table("near").fill(
            [_neighbour_row(one, place.project, redactor=redactor) for one in view.neighbours]
        )
        self.count("memories", view.memories if view.memories is not None else len(view.quotations))
        self.count("neighbours", place.degree)
        self.query_one("#said-lines", Plain).update(redactor.redact(place.entity.description)[0])

    def own_key(self) -> str:
        """Return the entity's name."""
        return self._entity


def _evidence_row(one: Quotation, redactor: Redactor) -> Row:
    short = one.memory_id[:SHORT_ID_LENGTH]
    return Row(
        (
            one.event_time.strftime("%Y-%m-%d"),
            redactor.redact(one.text)[0],
            redactor.redact(one.title)[0],
            short,
        ),
        key=short,
        opens=("memory", one.memory_id),
    )


def _neighbour_row(one: Neighbour, project: str, redactor: Redactor) -> Row:
    name = one.entity.name
    how = redactor.redact(one.relation.keywords)[0]
    return Row(
        (redactor.redact(name)[0], f"{one.relation.weight:g}", one.entity.type, how),
        key=name,
        opens=("entity", entity_key(project, name)),
    )
