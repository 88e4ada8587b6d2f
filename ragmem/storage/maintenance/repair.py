"""Repair the catalog from its own data: rebuild the full text, remove rows that belong to nothing."""

from ragmem.domain.model import State, content_hash
from ragmem.storage.fulltext.lexicon import build
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.invariants import CODE_RULES

_STATES = ", ".join(f"'{state.value}'" for state in (State.PENDING, State.INDEXED, State.BUFFERED))


def rebuild_full_text(catalog: Catalog) -> int:
    """Rebuild the index of all chunks in one transaction; return the number of chunks."""
    with catalog.database.write() as connection:
        build(connection)
        (count,) = connection.execute("SELECT coalesce(sum(chunks), 0) FROM lexicon_memories").fetchone()
    return int(count)


def hash_anew(catalog: Catalog) -> list[str]:
    """Update the hashes of memories whose text differs from their hash; return their ids.

    Their source then counts as changed, so that a seed which reads it again restores the right text.
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
    """Remove chunks without a memory, mark memories in an invalid state as pending; return how many."""
    with catalog.database.write() as connection:
        strays = connection.execute(
            "DELETE FROM chunks WHERE memory NOT IN (SELECT n FROM memories)"
        ).rowcount
        strays += connection.execute(
            f"UPDATE memories SET state = '{State.PENDING.value}' WHERE state NOT IN ({_STATES})"
        ).rowcount
    return strays


def forget_unsound_code(catalog: Catalog) -> int:
    """Remove the graph of all code if it violates a rule; return the number of projects to ingest again.

    It is not repaired row by row, because it can be rebuilt from the files.
    """
    with catalog.database.write() as connection:
        if not any(connection.execute(query).fetchone() for query in CODE_RULES.values()):
            return 0
        for table in ("edges", "symbols", "facts", "words", "files", "renames"):
            connection.execute(f"DELETE FROM code_{table}")
        return connection.execute("DELETE FROM code_roots").rowcount
