"""The entities of the graph, most connected first, and those whose names begin as one types."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filtering import FilterQuery
from ragmem.cli.explorer.listing import ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.graph.scope import ScopedEntity

MOST = 300
"""Entities that are listed."""


def entity_key(project: str, name: str) -> str:
    """Return what names an entity of a project."""
    return f"{project}\n{name}"


def alias_line(place: ScopedEntity, redactor: Redactor) -> str:
    """Return by which names an entity goes besides, without secrets; only where there are such."""
    return redactor.redact(f"also {', '.join(one.name for one in place.aliases)}")[0]


def row_of(place: ScopedEntity, project: str, redactor: Redactor) -> Row:
    """Return the line of an entity; `project` is what its project is called."""
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
    """The entities; the filter is how a name begins."""

    COLUMNS = (
        Column("entity", 26),
        Column("type", 12),
        Column("relations", 9, right=True),
        Column("project", 14, least=85),
        Column("said", least=60),
    )
    HINT = "how the name begins"
    EMPTY = "The graph has no entity yet."
    FILTERED = True

    def page(self, memory: Ragmem, asked: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the entities whose names begin so."""
        names = memory.catalog.projects.names()
        found = memory.graph(self.app.reader.projects).scope.top(MOST, asked.text)
        told = "most connected first" + (f", the first {MOST}" if len(found) == MOST else "")
        return Page(
            [row_of(one, names.get(one.project, one.project), redactor=memory.redactor) for one in found],
            told=told,
        )
