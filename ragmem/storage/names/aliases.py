"""The further names of an entity, as they are read: what was merged into it, and why."""

from dataclasses import dataclass

from ragmem.storage.names.spellings import entities_of
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import table_exists


@dataclass(frozen=True, slots=True)
class OtherName:
    """A name that stands for an entity of another name, and the rule that says so."""

    name: str
    rule: str


def other_names(database: Database, project: str, name: str) -> list[OtherName]:
    """Return what was merged into an entity of a project, by name."""
    with database.read() as connection:
        if not table_exists(database, connection, "entity_names"):
            return []
        return [
            OtherName(*row)
            for row in connection.execute(
                "SELECT name, rule FROM entity_names"
                " WHERE project = ? AND canonical = ? AND canonical <> name ORDER BY name",
                (project, name),
            )
        ]


def entity_of(database: Database, project: str, name: str) -> str | None:
    """Return the entity that a name, in any case, was merged into; None where it was not."""
    return next(iter(entities_of(database, project, [name])), None)
