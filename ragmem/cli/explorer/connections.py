"""The most connected memories."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.memories import display_title, excerpt
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.connections.connection_list import ConnectedMemory, hubs

MOST = 500
"""Maximum number of memories in the list."""

LINKED_COLUMNS = (
    Column("strength", 8, right=True),
    Column("title"),
    Column("cosine", 6, least=70, right=True),
    Column("shared", 6, least=70, right=True),
    Column("date", 10, least=60),
    Column("kind", 12, least=90),
)


def linked_row(one: ConnectedMemory, redactor: Redactor) -> Row:
    """Return the row of a connected memory."""
    memory, link = one.memory, one.connection
    return Row(
        (
            f"{link.strength:.2f}",
            display_title(memory, redactor=redactor),
            f"{link.cosine:.2f}",
            f"{link.shared:.2f}",
            memory.event_time.strftime("%Y-%m-%d"),
            memory.kind.value,
        ),
        key=memory.short_id,
        opens=("memory", memory.id),
        path=memory.uri,
        detail=excerpt(memory, redactor=redactor),
    )


class Connections(ListPane):
    """Memories by how many others they are connected with; Enter opens one, and its connections."""

    COLUMNS = (
        Column("links", 7, right=True),
        Column("title"),
        Column("kind", 12, least=60),
        Column("source", 12, least=80),
        Column("id", 12, least=80),
    )
    EMPTY = "No connections yet. `ragmem gc --dry-run` compares memories, and changes nothing else."

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the most connected memories."""
        found = hubs(memory.catalog, projects=self.app.reader.projects, limit=MOST)
        rows = [
            Row(
                (
                    f"{one.connections:,}",
                    display_title(one.memory, redactor=memory.redactor),
                    one.memory.kind.value,
                    one.memory.provenance,
                    one.memory.short_id,
                ),
                key=one.memory.short_id,
                opens=("connections", one.memory.id),
                path=one.memory.uri,
                detail=excerpt(one.memory, redactor=memory.redactor),
            )
            for one in found
        ]
        return Page(rows, status="most connected first")
