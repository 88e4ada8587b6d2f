"""The other names of an entity: those that were merged into it, and why."""

from dataclasses import dataclass

from ragmem.storage.names.spellings import entities_of
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import select_from


@dataclass(frozen=True, slots=True)
class OtherName:
    """A name that was merged into an entity, and the rule that did it."""

    name: str
    rule: str


def other_names(database: Database, project: str, name: str) -> list[OtherName]:
    """Return the names that were merged into an entity of a project, in order."""
    sql = (
        "SELECT name, rule FROM entity_names"
        " WHERE project = ? AND canonical = ? AND canonical <> name ORDER BY name"
    )
    return [OtherName(*row) for row in select_from(database, "entity_names", sql, (project, name))]


def entity_of(database: Database, project: str, name: str) -> str | None:
    """Return the entity that a name, in any case, was merged into; None if it was not."""
    return next(iter(entities_of(database, project, [name])), None)
