"""The other names of an entity: those that were merged into it, and why."""

from collections.abc import Iterable, Sequence

from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Database, select_in
from ragmem.storage.sql.migrations import select_from, table_exists


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


def spellings(database: Database, project: str, entities: Iterable[str]) -> dict[str, list[str]]:
    """Return entity -> the names that were merged into it, of those that have any."""
    found: dict[str, list[str]] = {}
    with database.read() as connection:
        if not table_exists(database, connection, "entity_names"):
            return {}
        sql = (
            "SELECT canonical, name FROM entity_names WHERE project = ? AND canonical <> name"
            " AND canonical IN ({})"
        )
        for entity, name in select_in(connection, sql, entities, project):
            found.setdefault(entity, []).append(name)
    # Not in SQL: for the order SQLite would go through all names of the project.
    return {entity: sorted(names) for entity, names in found.items()}


def entities_of(database: Database, project: str, names: Sequence[str]) -> list[str]:
    """Return the entities that any of these names, in any case, was merged into."""
    wanted = [name.lower() for name in names]
    with database.read() as connection:
        if not table_exists(database, connection, "entity_names"):
            return []
        sql = (
            "SELECT DISTINCT canonical FROM entity_names WHERE project = ? AND canonical <> name"
            " AND lower(name) IN ({}) ORDER BY canonical"
        )
        return [entity for (entity,) in select_in(connection, sql, wanted, project)]
