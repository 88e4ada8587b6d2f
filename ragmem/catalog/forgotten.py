"""Texts that a person forgot: a seed and a hook leave them out until somebody stores them again.

A text is known by its hash within its project, so that a note which was renamed stays forgotten too, and so
that nothing of a purged text is kept. One row for each lies in the catalog's table `meta`.
"""

from collections.abc import Iterable

from ragmem.catalog.batches import batches, marks
from ragmem.catalog.database import Connection
from ragmem.domain.model import Memory, digest

_KEY = "forgotten/"
_PURGE = "purge_unfinished"


def _key(memory: Memory) -> str:
    return _KEY + digest("forgotten", memory.scope.project, memory.content_hash)


def remember_forgotten(connection: Connection, memories: Iterable[Memory], run: str) -> None:
    """Keep that these texts were forgotten by a run."""
    connection.executemany(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [(key, run) for key in dict.fromkeys(map(_key, memories))],
    )


def are_forgotten(connection: Connection, memories: Iterable[Memory]) -> set[str]:
    """Return the ids of those whose text was forgotten in their project."""
    keys: dict[str, list[str]] = {}
    for memory in memories:
        keys.setdefault(_key(memory), []).append(memory.id)
    found: set[str] = set()
    if not keys or not _any(connection):
        return found
    for batch in batches(keys):
        for (key,) in connection.execute(f"SELECT key FROM meta WHERE key IN ({marks(batch)})", batch):
            found.update(keys[key])
    return found


def want_again(connection: Connection, memories: Iterable[Memory]) -> None:
    """Take back that these texts were forgotten: they are stored again."""
    if _any(connection):
        connection.executemany("DELETE FROM meta WHERE key = ?", [(_key(memory),) for memory in memories])


def _any(connection: Connection) -> bool:
    row = connection.execute(
        "SELECT 1 FROM meta WHERE key >= ? AND key < ? LIMIT 1", (_KEY, _KEY + "\x7f")
    ).fetchone()
    return row is not None


def mark_purge(connection: Connection) -> None:
    """Keep that rows were deleted whose bytes may still lie in the files."""
    connection.execute("DELETE FROM meta WHERE key = ?", (_PURGE,))
    connection.execute("INSERT INTO meta (key, value) VALUES (?, '')", (_PURGE,))


def purge_is_unfinished(connection: Connection) -> bool:
    """Tell whether a purge was ended between the deletion of rows and that of their bytes."""
    return connection.execute("SELECT 1 FROM meta WHERE key = ?", (_PURGE,)).fetchone() is not None


def end_purge(connection: Connection) -> None:
    """Keep that nothing of what was purged lies in the files any more."""
    connection.execute("DELETE FROM meta WHERE key = ?", (_PURGE,))
