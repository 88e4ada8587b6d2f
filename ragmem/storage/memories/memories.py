"""The memories of the catalog: accept, look up, count, remove."""

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple

import orjson

from ragmem.domain.model import ID_LENGTH, Chunk, Memory, State, Tier
from ragmem.errors import NotFoundError
from ragmem.frozen import dataclass
from ragmem.storage.fulltext import lexicon
from ragmem.storage.fulltext.terms import Analysed, analyse
from ragmem.storage.lifecycle.connections import compare_again
from ragmem.storage.lifecycle.forgotten_texts import unmark_forgotten
from ragmem.storage.lifecycle.supersessions import forget_former_text
from ragmem.storage.memories import edits
from ragmem.storage.sql import meta
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Connection, Database, select_in
from ragmem.storage.sql.rows import (
    MEMORY_COLUMNS,
    SELECT_MEMORY,
    SELECT_OUTLINE,
    Outline,
    chunk_from,
    encode_headings,
    memory_from,
    memory_values,
    outline_from,
    to_stamp,
)

MIN_PREFIX = 4
"""Minimum length of a prefix of an id."""

_FIRST = ("memory", "agentmemory", "projectagents", "records", "claudemds", "instructions")
"""Sources that are indexed first: people keep them by hand, and they instruct assistants."""

DEFERRED_SOURCES = ("transcripts",)
"""Sources with thousands of memories: they are indexed last, and other operations do not wait for them."""

BACKLOG = 200
"""Pending memories from which on other operations leave all of them to a seed or to the warm process."""

_REDATED = "redated"
"""The key of a mark that is new after each change of a date without one of the text."""

_UPDATE = ", ".join(
    f"{column} = excluded.{column}"
    for column in MEMORY_COLUMNS
    if column not in {"id", "recalls", "created_at"}
)
_UPSERT = (
    f"INSERT INTO memories ({', '.join(MEMORY_COLUMNS)}) VALUES ({', '.join('?' * len(MEMORY_COLUMNS))}) "
    f"ON CONFLICT (id) DO UPDATE SET {_UPDATE} RETURNING n"
)


ChunkRow = tuple[str, int, str, int, int]
"""Id, position, heading, beginning and end of a chunk."""


class Place(NamedTuple):
    """The source, the scope and the uri of a memory, of which its id is made."""

    source: str
    project: str
    spec: str
    uri: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its text and headings, and the title and project of its memory."""

    chunk_id: str
    memory_id: str
    project: str
    title: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class MemoryState:
    """The state of a stored memory, to decide whether a draft is new, changed or unchanged."""

    content_hash: str
    state: State
    fingerprint: str
    event_time: datetime


def fingerprint(memory: Memory) -> str:
    """Return the fields, apart from the text, that must be equal for a memory to be unchanged."""
    return orjson.dumps(
        [
            memory.title,
            memory.kind.value,
            memory.tier.value,
            list(memory.tags),
            memory.summary,
            dict(memory.metadata),
        ],
        option=orjson.OPT_SORT_KEYS,
    ).decode()


class Memories:
    """Memories, their chunks and their full text in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def accept(
        self,
        items: Iterable[tuple[Memory, Sequence[Chunk]]],
        *,
        words: Mapping[str, Sequence[Analysed]] | None = None,
    ) -> None:
        """Write memories with their chunks and full text in one transaction, after which they are durable.

        An existing memory is replaced, but keeps its creation date and recalls. A forgotten text is no longer
        forgotten. `words` has the `words_of` memories by id, where they are already known.
        """
        # Analysing words takes longer than writing, and needs no lock.
        known = words or {}
        prepared = [
            (memory, chunks, known[memory.id] if memory.id in known else words_of(memory, chunks))
            for memory, chunks in items
        ]
        with self._database.write() as connection:
            unmark_forgotten(connection, [memory for memory, _, _ in prepared])
            # Most are new, and have nothing that could be out of date.
            ids = [memory.id for memory, _, _ in prepared]
            stored = {
                key for (key,) in select_in(connection, "SELECT id FROM memories WHERE id IN ({})", ids)
            }
            searchable: dict[int, tuple[str, str, Sequence[Analysed]]] = {}
            rows: dict[int, list[tuple[object, ...]]] = {}
            for memory, chunks, analysed in prepared:
                is_new = memory.id not in stored
                if not is_new:
                    forget_former_text(connection, memory)
                (number,) = connection.execute(_UPSERT, memory_values(memory)).fetchone()
                if not is_new:
                    _drop_chunks(connection, [number])
                    edits.drop(connection, number)
                    compare_again(connection, number, memory.scope.project)
                edits.add(connection, number, memory.metadata)
                stored.add(memory.id)
                placed = encode_headings(memory.indexed_text, [chunk.heading for chunk in chunks])
                rows[number] = [
                    (chunk.id, number, chunk.order, heading, chunk.start, chunk.end)
                    for chunk, heading in zip(chunks, placed, strict=True)
                ]
                searchable[number] = (memory.id, memory.scope.project, analysed)
            connection.executemany(
                "INSERT INTO chunks (id, memory, position, heading, begin_at, end_at) VALUES (?,?,?,?,?,?)",
                chain.from_iterable(rows.values()),
            )
            lexicon.drop(connection, list(searchable))
            lexicon.add(connection, ((number, *rest) for number, rest in searchable.items()))

    def mark(self, ids: Iterable[str], state: State) -> None:
        """Set the state of memories."""
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE memories SET state = ? WHERE id = ?",
                [(state.value, identifier) for identifier in ids],
            )

    def redate(self, moments: Mapping[str, datetime]) -> None:
        """Set the event times of memories whose text has not changed, which needs no new vectors."""
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE memories SET event_at = ? WHERE id = ?",
                [(to_stamp(moment), identifier) for identifier, moment in moments.items()],
            )
            meta.put(connection, _REDATED, os.urandom(8).hex())

    def remove(self, ids: Iterable[str]) -> int:
        """Remove memories with their chunks and full text for good; return how many there were."""
        removed = 0
        with self._database.write() as connection:
            for batch in batches(ids):
                numbers = [
                    number
                    for (number,) in connection.execute(
                        f"SELECT n FROM memories WHERE id IN ({marks(batch)})", batch
                    )
                ]
                _drop_chunks(connection, numbers)
                lexicon.drop(connection, numbers)
                lexicon.settle(connection, len(numbers))
                connection.execute(f"DELETE FROM memories WHERE n IN ({marks(numbers)})", numbers)
                removed += len(numbers)
        return removed

    def states(self, ids: Iterable[str]) -> dict[str, MemoryState]:
        """Return the states of those ids that exist."""
        found: dict[str, MemoryState] = {}
        # A batch at a time, because all texts together may be too large.
        for batch in batches(ids):
            for key, memory in self.get(batch).items():
                found[key] = MemoryState(
                    memory.content_hash, memory.state, fingerprint(memory), memory.event_time
                )
        return found

    def buffered(self, ids: Iterable[str]) -> set[str]:
        """Return those of these ids that only full text finds."""
        found = self._database.select_in("SELECT id, state FROM memories WHERE id IN ({})", ids)
        return {key for key, state in found if state == State.BUFFERED.value}

    def buffered_before(self, moment: datetime) -> list[str]:
        """Return the ids of those that only full text finds, and that were stored or changed before."""
        return self._database.select_column(
            "SELECT id FROM memories WHERE state = ? AND updated_at < ? ORDER BY id",
            [State.BUFFERED.value, to_stamp(moment)],
        )

    def get(self, ids: Iterable[str]) -> dict[str, Memory]:
        """Return the memories with these full ids that exist."""
        rows = self._database.select_in(f"SELECT {SELECT_MEMORY} FROM memories m WHERE id IN ({{}})", ids)
        return {row[0]: memory_from(row) for row in rows}

    def beneath(self, source: str, places: Iterable[str]) -> list[Memory]:
        """Return the memories of a source that are parts of these files, by their place."""
        found = list[Memory]()
        for place in places:
            rows = self._database.select(
                f"SELECT {SELECT_MEMORY} FROM memories m"
                " WHERE m.source = ? AND m.uri >= ? AND m.uri < ? ORDER BY m.uri",
                (source, f"{place}#", f"{place}$"),
            )
            found += map(memory_from, rows)
        return found

    def with_hashes(self, hashes: Iterable[str]) -> list[Memory]:
        """Return the memories with one of these content hashes."""
        rows = self._database.select_in(
            f"SELECT {SELECT_MEMORY} FROM memories m WHERE content_hash IN ({{}})", hashes
        )
        return [memory_from(row) for row in rows]

    def outlines(self, ids: Iterable[str]) -> dict[str, Outline]:
        """Return the outlines of those ids that exist; no text is read."""
        rows = self._database.select_in(f"SELECT {SELECT_OUTLINE} FROM memories m WHERE id IN ({{}})", ids)
        return {row[0]: outline_from(row) for row in rows}

    def hashes(self, ids: Iterable[str]) -> dict[str, str]:
        """Return id -> content hash of those that exist, without reading their texts."""
        return dict(self._database.select_in("SELECT id, content_hash FROM memories WHERE id IN ({})", ids))

    def select(
        self, *, sources: Sequence[str] = (), projects: Sequence[str] = (), stored: datetime | None = None
    ) -> list[str]:
        """Return the ids of the memories of these sources and projects (none: of all), stored at a moment."""
        conditions, values = ["1 = 1"], list[str | int]()
        for column, wanted in (("source", sources), ("project", projects)):
            if wanted:
                conditions.append(f"{column} IN ({marks(wanted)})")
                values += wanted
        if stored is not None:
            conditions.append("updated_at = ?")
            values.append(to_stamp(stored))
        return self._database.select_column(
            f"SELECT id FROM memories WHERE {' AND '.join(conditions)} ORDER BY n", values
        )

    def audience(self, identifier: str) -> str:
        """Return for whom a memory is: personal, project or team; "" without it, and outside PostgreSQL."""
        if self._database.dialect != "postgres":
            return ""
        row = self._database.select_row("SELECT audience FROM memories WHERE id = ?", (identifier,))
        return row[0] if row else ""

    def readers(self, project: str = "") -> dict[str, str]:
        """Return id -> who sees the memory, of those that are seen by others than the members of its project.

        Of one project, or of all. Memories with the same value are seen by the same members. Only PostgreSQL
        has any.
        """
        if self._database.dialect != "postgres":
            return {}
        return dict(
            self._database.select(
                "SELECT id, CASE audience WHEN 'team' THEN 'team' ELSE 'member ' || owner END FROM memories"
                f" WHERE {'project = ? AND ' if project else ''}"
                "(audience = 'team' OR (audience = 'personal' AND owner <> ''))",
                [project] if project else [],
            )
        )

    def ids_by_number(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return number of the row -> id, of those that are there."""
        return dict(self._database.select_in("SELECT n, id FROM memories WHERE n IN ({})", numbers))

    def uris(self, ids: Iterable[str]) -> dict[str, str]:
        """Return id -> uri of those that exist, without reading their texts."""
        return dict(self._database.select_in("SELECT id, uri FROM memories WHERE id IN ({})", ids))

    def places(self, ids: Iterable[str]) -> dict[str, Place]:
        """Return id -> where the memory comes from, of those that exist, without reading their texts."""
        rows = self._database.select_in(
            "SELECT id, source, project, spec, uri FROM memories WHERE id IN ({})", ids
        )
        return {row[0]: Place(*row[1:]) for row in rows}

    def resolve(self, prefix: str) -> Memory:
        """Return the one memory whose id starts with the prefix.

        Raises NotFoundError when there is none, when there are several, or when the prefix is too short.
        """
        wanted = prefix.strip().lower()
        if not wanted.isalnum() or len(wanted) < MIN_PREFIX or len(wanted) > ID_LENGTH:
            raise NotFoundError(
                f'"{prefix}" is not a memory id',
                hint="ids look like 3q7hn2zk5x4m; `ragmem query --ids` prints them",
            )
        rows = self._database.select(
            f"SELECT {SELECT_MEMORY} FROM memories m WHERE id >= ? AND id < ? LIMIT 2",
            (wanted, wanted + "\x7f"),
        )
        if not rows:
            raise NotFoundError(
                f'no memory has the id "{prefix}"', hint="`ragmem query --ids TEXT` prints ids"
            )
        if len(rows) > 1:
            raise NotFoundError(
                f'several memories have ids that start with "{prefix}"', hint="use a longer prefix"
            )
        return memory_from(rows[0])

    def chunks(self, memory: Memory) -> tuple[Chunk, ...]:
        """Return the chunks of a memory in order."""
        rows = self._database.select(
            "SELECT c.id, c.position, c.heading, c.begin_at, c.end_at FROM chunks c"
            " JOIN memories m ON m.n = c.memory WHERE m.id = ? ORDER BY c.position",
            (memory.id,),
        )
        return tuple(chunk_from(memory, row) for row in rows)

    def chunks_by_id(self, ids: Iterable[str]) -> dict[str, tuple[str, ChunkRow]]:
        """Return chunk id -> (memory id, row for `chunk_from`) of those that exist."""
        rows = self._database.select_in(
            "SELECT c.id, c.position, c.heading, c.begin_at, c.end_at, m.id FROM chunks c"
            " JOIN memories m ON m.n = c.memory WHERE c.id IN ({})",
            ids,
        )
        return {row[0]: (row[5], row[:5]) for row in rows}

    def some_chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """Return those of the chunks that exist, by id, with their texts."""
        rows = self.chunks_by_id(ids)
        # Not by substr in SQL, which takes longer than reading the whole text.
        memories = self.get({memory for memory, _ in rows.values()})
        return {key: chunk_from(memories[memory], row) for key, (memory, row) in rows.items()}

    def passages(self, chunk_ids: Iterable[str]) -> dict[str, Passage]:
        """Return those of the chunks that exist, by id, with what their memories say of them."""
        chunks = self.some_chunks(dict.fromkeys(chunk_ids))
        memories = self.get({chunk.memory_id for chunk in chunks.values()})
        return {key: _passage(memories[chunk.memory_id], chunk) for key, chunk in chunks.items()}

    def openings(self, ids: Iterable[str]) -> dict[str, str]:
        """Return memory id -> the id of its first chunk, of those that have one."""
        return dict(
            self._database.select_in(
                "SELECT m.id, c.id FROM memories m JOIN chunks c ON c.memory = m.n AND c.position = 0"
                " WHERE m.id IN ({})",
                ids,
            )
        )

    def extents(self, ids: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return memory id -> the id of its first chunk, and the characters of its text."""
        rows = self._database.select_in(
            "SELECT m.id, c.id, (SELECT MAX(l.end_at) FROM chunks l WHERE l.memory = m.n)"
            " FROM memories m JOIN chunks c ON c.memory = m.n AND c.position = 0 WHERE m.id IN ({})",
            ids,
        )
        return {memory: (chunk, length) for memory, chunk, length in rows}

    def each(self, *, states: Sequence[State] = (), source: str | None = None) -> Iterator[Memory]:
        """Yield memories in the order of their ids, read in batches, so that writers may write meanwhile."""
        last = ""
        conditions = ["m.id > ?"]
        fixed: list[str] = []
        if states:
            conditions.append(f"m.state IN ({marks(states)})")
            fixed += [state.value for state in states]
        if source is not None:
            conditions.append("m.source = ?")
            fixed.append(source)
        while True:
            rows = self._database.select(
                f"SELECT {SELECT_MEMORY} FROM memories m WHERE {' AND '.join(conditions)}"
                " ORDER BY m.id LIMIT 200",
                [last, *fixed],
            )
            for row in rows:
                yield memory_from(row)
            if not rows:
                return
            last = rows[-1][0]

    def pending_ids(self, *, most: int | None = None, without: Sequence[str] = ()) -> list[str]:
        """Return the ids of pending memories: curated ones first and transcripts last, by tier, by date.

        The latest come first. Memories of the sources `without` are left out.
        """
        condition = f"AND source NOT IN ({marks(without)})" if without else ""
        limit = "" if most is None else f"LIMIT {int(most)}"
        return self._database.select_column(
            f"SELECT id FROM memories WHERE state = ? {condition}"
            f" ORDER BY CASE WHEN source IN ({marks(_FIRST)}) THEN 0"
            f" WHEN source IN ({marks(DEFERRED_SOURCES)}) THEN 2 ELSE 1 END,"
            f" CASE tier WHEN ? THEN 0 ELSE 1 END, event_at DESC, id {limit}",
            [State.PENDING.value, *without, *_FIRST, *DEFERRED_SOURCES, Tier.INGEST.value],
        )

    def has_backlog(self) -> bool:
        """Return whether so many memories are pending that only a seed or the warm process indexes them."""
        rows = self._database.select(
            f"SELECT 1 FROM memories WHERE state = ? AND source NOT IN ({marks(DEFERRED_SOURCES)})"
            f" LIMIT 1 OFFSET {BACKLOG - 1}",
            [State.PENDING.value, *DEFERRED_SOURCES],
        )
        return bool(rows)

    def ids(self, *, states: Sequence[State] = ()) -> set[str]:
        """Return the ids of all memories, or of those in these states."""
        with self._database.read() as connection:
            if states:
                return {
                    identifier
                    for (identifier,) in connection.execute(
                        f"SELECT id FROM memories WHERE state IN ({marks(states)})",
                        [state.value for state in states],
                    )
                }
            return {identifier for (identifier,) in connection.execute("SELECT id FROM memories")}


def _passage(memory: Memory, chunk: Chunk) -> Passage:
    return Passage(chunk.id, memory.id, memory.scope.project, memory.title, chunk.heading, chunk.text)


def texts_state(connection: Connection) -> Hashable:
    """Return what changes when a memory comes, goes, or changes in anything but its state and its recalls."""
    rows = connection.execute("SELECT token, dead FROM lexicon_segments ORDER BY last").fetchall()
    return meta.get(connection, _REDATED), tuple((token, bytes(dead)) for token, dead in rows)


def words_of(memory: Memory, chunks: Sequence[Chunk]) -> list[Analysed]:
    """Return the search terms of each of a memory's chunks."""
    frame = (memory.title, " ".join(memory.tags), memory.uri)
    return [analyse(chunk.text, chunk.heading, frame) for chunk in chunks]


def _drop_chunks(connection: Connection, numbers: Sequence[int]) -> None:
    connection.execute(f"DELETE FROM chunks WHERE memory IN ({marks(numbers)})", numbers)
