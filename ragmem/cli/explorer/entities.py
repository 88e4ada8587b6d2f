"""The entities of the graph, most connected first, filtered by a prefix of their names."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.graph.scope import ScopedEntity

MOST = 300
"""Maximum number of entities in the list."""


def entity_key(project: str, name: str) -> str:
    """Return the key of an entity of a project."""
    return f"{project}\n{name}"


def alias_line(place: ScopedEntity, redactor: Redactor) -> str:
    """Return a line with the aliases of an entity, without secrets."""
    return redactor.redact(f"also {', '.join(one.name for one in place.aliases)}")[0]


def row_of(place: ScopedEntity, project: str, redactor: Redactor) -> Row:
    """Return the row of an entity; `project` is the name of its project."""
    entity = place.entity
    said, name = redactor.redact(entity.description)[0], redactor.redact(entity.name)[0]
    also = f"{alias_line(place, redactor=redactor)}\n" if place.aliases else ""
    return Row(
        (name, entity.type, f"{place.degree:,}", project, " ".join(said.split())),
        key=entity.name,
        opens=("entity", entity_key(place.project, entity.name)),
        detail=f"{name}\n{entity.type}, {place.degree:,} relations, {project}\n{also}\n{said}",
    )


class Entities(ListPane):
    """The entities; the filter is a prefix of the name."""

    COLUMNS = (
        Column("entity", 26),
        Column("type", 12),
        Column("relations", 9, right=True),
        Column("project", 14, least=85),
        Column("sentence", least=60),
    )
    HINT = "a prefix of the name"
    UNIT = ("entity", "entities")
    EMPTY = "The graph has no entities yet."
    FILTERED = True

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the entities whose names have the prefix."""
        names = memory.catalog.projects.names()
        found = memory.graph(self.app.reader.projects).scope.top(MOST, query.text)
        status = "most connected first" + (f", the first {MOST}" if len(found) == MOST else "")
        return Page(
            [row_of(one, names.get(one.project, one.project), redactor=memory.redactor) for one in found],
            status=status,
        )
