"""The list of memories: paged from the catalog, filtered as one types."""

from typing import Any, ClassVar

from ragmem.api.memory import Ragmem
from ragmem.cli.common import shorten_home
from ragmem.cli.explorer.filter_query import FilterQuery, filter_values
from ragmem.cli.explorer.list_pane import PAGE, ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.model import Kind, Memory, State, Tier
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.ingestion.scope import require_sources
from ragmem.storage.memories.memory_list import Filter, count_memories, list_page

BEGINNING = 1_200
"""Characters of a text in the details of its row."""

COLUMNS = (
    Column("date", 10),
    Column("kind", 12),
    Column("title"),
    Column("source", 12, least=80),
    Column("state", 9, least=95),
    Column("id", 12, least=80),
)


def display_title(memory: Memory, redactor: Redactor) -> str:
    """Return the title of a memory, else its uri or its beginning, without secrets."""
    return redactor.redact(memory.title or memory.uri or memory.text[:80])[0]


def row_of(memory: Memory, redactor: Redactor) -> Row:
    """Return the row of a memory."""
    return Row(
        (
            memory.event_time.strftime("%Y-%m-%d"),
            memory.kind.value,
            display_title(memory, redactor=redactor),
            memory.provenance,
            memory.state.value,
            memory.short_id,
        ),
        key=memory.short_id,
        opens=("memory", memory.id),
        path=memory.uri,
        detail=excerpt(memory, redactor=redactor),
    )


def excerpt(memory: Memory, redactor: Redactor) -> str:
    """Return the origin and the beginning of a memory, without secrets."""
    facts = (
        f"{memory.short_id}  {memory.event_time:%Y-%m-%d %H:%M}",
        f"{memory.kind.value}, {memory.tier.value}, {memory.state.value}"
        + (", protected" if memory.protected else ""),
        f"{memory.provenance}  {shorten_home(redactor.redact(memory.uri)[0])}",
    )
    text = redactor.redact(memory.text)[0].strip()
    cut = text if len(text) <= BEGINNING else text[:BEGINNING].rstrip() + "…"
    return "\n".join(facts) + f"\n\n{cut}"


class Memories(ListPane):
    """All memories, latest first."""

    COLUMNS = COLUMNS
    KEYS: ClassVar[tuple[str, ...]] = ("kind", "source", "project", "state", "tier")
    HINT = "words of the title, kind:error source:memory project:… state:indexed tier:ingest"
    EMPTY = "No memories here. a shows all projects."
    FILTERED = True

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:
        """Return a page of memories; raises UsageError and NotFoundError for a value that nothing has."""
        projects = self.app.reader.projects
        if query.of("project"):
            projects = memory.projects.resolve(query.of("project"))
        wanted = Filter(
            projects=projects,
            kinds=filter_values(query, "kind", Kind),
            states=filter_values(query, "state", State),
            tiers=filter_values(query, "tier", Tier),
            sources=require_sources(memory.catalog, memory.settings, query.of("source")),
            title=query.text,
        )
        database = memory.catalog.database
        found, rest = list_page(database, wanted, after=after, limit=PAGE)
        total = count_memories(database, wanted) if after is None else None
        return Page([row_of(one, redactor=memory.redactor) for one in found], total, rest)
