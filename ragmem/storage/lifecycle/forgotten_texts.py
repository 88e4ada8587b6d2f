"""Texts that a person forgot: a seed and a hook skip them until somebody stores them again.

A text is identified by its hash within its project, so that a renamed note stays forgotten, and nothing of a
purged text is kept. Each has one row in the catalog's table `meta`.
"""

from collections.abc import Iterable

from ragmem.domain.model import UNASSIGNED, USER, Memory, Scope, digest, memory_id
from ragmem.ports.principal import owner_of
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Connection, select_in

_KEY = "forgotten/"
_PURGE = "purge_unfinished"


def _hash(place: str, text_hash: str) -> str:
    # What one member of a team has forgotten, another may keep.
    owner = owner_of(place)
    return digest("forgotten", place, text_hash, *([owner] if owner else []))


def _key(memory: Memory, project: str = "") -> str:
    return _KEY + _hash(project or memory.scope.project, memory.content_hash)


def _keys(memory: Memory) -> list[str]:
    """Return the keys under which a text may be known as forgotten.

    A text that names its project had been the user's, or nobody's, until that project was known.
    """
    if memory.id != memory_id(memory.source, Scope(USER), memory.uri):
        return [_key(memory)]
    return list(dict.fromkeys((_key(memory), _key(memory, USER), _key(memory, UNASSIGNED))))


def remember_forgotten(connection: Connection, memories: Iterable[Memory], run: str) -> None:
    """Record that a run forgot these texts."""
    connection.executemany(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [(key, run) for key in dict.fromkeys(map(_key, memories))],
    )


def find_forgotten(connection: Connection, memories: Iterable[Memory]) -> set[str]:
    """Return the ids of the memories whose text was forgotten in their project."""
    found: set[str] = set()
    # Most homes have forgotten nothing, and each key is a hash.
    if not _any(connection):
        return found
    keys: dict[str, list[str]] = {}
    for memory in memories:
        for key in _keys(memory):
            keys.setdefault(key, []).append(memory.id)
    for (key,) in select_in(connection, "SELECT key FROM meta WHERE key IN ({})", keys):
        found.update(keys[key])
    return found


def unmark_forgotten(connection: Connection, memories: Iterable[Memory]) -> None:
    """Remove these texts from the forgotten ones, because they are stored again."""
    if _any(connection):
        keys = [(key,) for memory in memories for key in _keys(memory)]
        connection.executemany("DELETE FROM meta WHERE key = ?", keys)


def forgotten_texts(connection: Connection) -> list[tuple[str, str]]:
    """Return hash and run of all texts that were forgotten, in the order of the hashes."""
    rows = connection.execute(
        "SELECT key, value FROM meta WHERE key >= ? AND key < ?", (_KEY, _KEY + "\x7f")
    ).fetchall()
    return sorted((key.removeprefix(_KEY), run) for key, run in rows)


def stored_texts(connection: Connection) -> set[str]:
    """Return the hashes, as `forgotten_texts` has them, of all texts that are stored."""
    rows = connection.execute("SELECT DISTINCT project, content_hash FROM memories").fetchall()
    return {_hash(project, text_hash) for project, text_hash in rows}


def mark_forgotten(connection: Connection, hashed: str, run: str) -> None:
    """Record that a run forgot the text with this hash, unless it is recorded already."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING", (_KEY + hashed, run)
    )


def unmark_all_forgotten(connection: Connection) -> None:
    """Remove all records of forgotten texts."""
    connection.execute("DELETE FROM meta WHERE key >= ? AND key < ?", (_KEY, _KEY + "\x7f"))


def _any(connection: Connection) -> bool:
    row = connection.execute(
        "SELECT 1 FROM meta WHERE key >= ? AND key < ? LIMIT 1", (_KEY, _KEY + "\x7f")
    ).fetchone()
    return row is not None


def mark_purge(connection: Connection) -> None:
    """Record that the files may still contain the bytes of deleted rows."""
    meta.put(connection, _PURGE, "")


def purge_is_unfinished(connection: Connection) -> bool:
    """Return whether a purge stopped between the deletion of rows and that of their bytes."""
    return meta.get(connection, _PURGE) is not None


def end_purge(connection: Connection) -> None:
    """Record that the files no longer contain purged bytes."""
    meta.delete(connection, _PURGE)
