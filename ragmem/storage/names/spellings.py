"""Entities by all their names, for whoever looks for something that texts call otherwise."""

from collections.abc import Iterable, Sequence

from ragmem.storage.sql.database import Database, select_in
from ragmem.storage.sql.migrations import table_exists


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
