"""Mending the catalog by what it knows itself: full text from the chunks, rows that belong to nothing."""

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.database import Connection
from ragmem.catalog.fulltext import add_text, drop_text
from ragmem.catalog.schema import CATALOG
from ragmem.domain.model import State, content_hash

_STATES = ", ".join(f"'{state.value}'" for state in (State.PENDING, State.INDEXED, State.BUFFERED))


def rebuild_full_text(catalog: Catalog) -> int:
    """Write the full text of all chunks anew in one transaction; return how many chunks."""
    database = catalog.database
    count = 0
    with database.write() as connection:
        numbers = dict(connection.execute("SELECT id, n FROM memories").fetchall())
        if database.dialect == "sqlite":
            _make_anew(connection)
        for memory in catalog.memories.each():
            if database.dialect != "sqlite":
                drop_text(database, connection, numbers[memory.id])
            places = dict(
                connection.execute(
                    "SELECT id, n FROM chunks WHERE memory = ?", (numbers[memory.id],)
                ).fetchall()
            )
            tags = " ".join(memory.tags)
            for chunk in catalog.memories.chunks(memory):
                add_text(
                    database, connection, places[chunk.id], (memory.title, chunk.heading, chunk.text, tags)
                )
                count += 1
    return count


def _make_anew(connection: Connection) -> None:
    """Replace the index as a whole: where it is damaged, SQLite refuses to delete single rows."""
    [statement] = [
        statement
        for step in CATALOG.migrations
        for statement in step.statements
        if statement.startswith("CREATE VIRTUAL TABLE chunks_text")
    ]
    connection.execute("DROP TABLE IF EXISTS chunks_text")
    connection.execute(statement)


def hash_anew(catalog: Catalog) -> list[str]:
    """Give the memories whose text is not what their hash says the hash of the text that they have.

    Their source then counts as changed, so that a seed which reads it again puts the right text back. Returns
    their ids.
    """
    altered = {
        memory.id: content_hash(memory.text)
        for memory in catalog.memories.each()
        if memory.content_hash != content_hash(memory.text)
    }
    with catalog.database.write() as connection:
        connection.executemany(
            "UPDATE memories SET content_hash = ? WHERE id = ?",
            [(fresh, identifier) for identifier, fresh in altered.items()],
        )
    return list(altered)


def drop_strays(catalog: Catalog) -> int:
    """Remove chunks of no memory, let memories in an impossible state be indexed again; return how many."""
    with catalog.database.write() as connection:
        strays = connection.execute(
            "DELETE FROM chunks WHERE memory NOT IN (SELECT n FROM memories)"
        ).rowcount
        strays += connection.execute(
            f"UPDATE memories SET state = '{State.PENDING.value}' WHERE state NOT IN ({_STATES})"
        ).rowcount
    return strays
