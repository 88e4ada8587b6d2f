"""Remove the statements of deleted memories about names, and names without mentions."""

from collections.abc import Sequence

from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Connection


def remove_statements(connection: Connection, numbers: Sequence[int]) -> set[str]:
    """Remove all statements of memories; return the affected forms."""
    touched: set[str] = set()
    mentioned: set[int] = set()
    for batch in batches(numbers):
        of_them = f"memory IN ({marks(batch)})"
        mentioned.update(
            name for (name,) in connection.execute(f"SELECT name FROM entity_mentions WHERE {of_them}", batch)
        )
        for forms in connection.execute(
            f"SELECT short_form, long_form FROM entity_aliases WHERE {of_them}", batch
        ):
            touched.update(forms)
        for table in ("entity_mentions", "entity_aliases"):
            connection.execute(f"DELETE FROM {table} WHERE {of_them}", batch)
    return (touched | drop_orphans(connection, sorted(mentioned))) - {""}


def drop_orphans(connection: Connection, names: Sequence[int]) -> set[str]:
    """Remove those of the names that no memory mentions any more; return their forms."""
    found: set[str] = set()
    for batch in batches(names):
        orphans = connection.execute(
            f"SELECT n, form FROM entity_names WHERE n IN ({marks(batch)})"
            " AND NOT EXISTS (SELECT 1 FROM entity_mentions e WHERE e.name = entity_names.n)"
            " AND NOT EXISTS (SELECT 1 FROM entity_apart a"
            " WHERE a.project = entity_names.project AND a.name = entity_names.name)",
            batch,
        ).fetchall()
        connection.executemany("DELETE FROM entity_names WHERE n = ?", [(n,) for n, _ in orphans])
        found.update(form for _, form in orphans)
    return found
