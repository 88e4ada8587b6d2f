"""What questions have read of memories: each row is read once, and again when anything was written since."""

from collections.abc import Iterable, Sequence

from ragmem.domain.model import Chunk, Memory
from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Lives
from ragmem.storage.lifecycle.supersessions import Supersession, Supersessions
from ragmem.storage.memories.memories import ChunkRow, Memories, Place
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import Outline

MOST_CHARACTERS = 4_000_000
"""Characters of texts that a thread keeps for its next questions: about what SQLite keeps of the file."""

MOST_CHUNKS = 10_000
"""Rows of chunks that a thread keeps: some 3 MB."""

MOST_OUTLINES = 5_000
"""Outlines that a thread keeps: some 2 MB."""

MOST_LINKED = 1_000
"""Supersessions, and states of lives, up to which a thread keeps whose they are: some 0.3 MB."""


class KeptRows:
    """What former questions of a thread have read, by ids."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.outlines: dict[str, Outline] = {}
        self.chunks: dict[str, tuple[str, ChunkRow]] = {}
        self.characters = 0
        self.linked: dict[str, frozenset[str] | None] = {}

    def those_in(self, column: str, ids: Iterable[str], database: Database) -> list[str]:
        """Return those of some ids that may be in a column ("supersessions.older"); a few are all kept."""
        if column not in self.linked:
            table, _, name = column.partition(".")
            found = database.select_column(f"SELECT {name} FROM {table} LIMIT ?", (MOST_LINKED + 1,))
            self.linked[column] = frozenset(found) if len(found) <= MOST_LINKED else None
        known = self.linked[column]
        return [key for key in ids if known is None or key in known]

    def add(self, memories: dict[str, Memory]) -> None:
        """Keep some memories."""
        self.memories.update(memories)
        self.characters += sum(len(memory.text) + len(memory.summary) for memory in memories.values())

    def shorten(self) -> None:
        """Drop what was kept first, until there is room."""
        while self.characters > MOST_CHARACTERS:
            gone = self.memories.pop(next(iter(self.memories)))
            self.characters -= len(gone.text) + len(gone.summary)
        for rows, most in ((self.outlines, MOST_OUTLINES), (self.chunks, MOST_CHUNKS)):
            while len(rows) > most:
                rows.pop(next(iter(rows)))


class IdentityMap(Memories):
    """The memories as one transaction sees them; a row that is known is not read again."""

    def __init__(self, database: Database, kept: KeptRows) -> None:
        super().__init__(database)
        self._kept = kept
        self._chunks: dict[str, Chunk] = {}

    def get(self, ids: Iterable[str]) -> dict[str, Memory]:
        """Return the memories with these full ids that exist."""
        ids, known = list(ids), self._kept.memories
        if missing := [key for key in dict.fromkeys(ids) if key not in known]:
            self._kept.add(super().get(missing))
        return {key: known[key] for key in ids if key in known}

    def outlines(self, ids: Iterable[str]) -> dict[str, Outline]:
        """Return the outlines of those ids that exist; no text is read."""
        ids, known = list(ids), self._kept.outlines
        if missing := [key for key in ids if key not in known]:
            known.update(super().outlines(missing))
        return {key: known[key] for key in ids if key in known}

    def places(self, ids: Iterable[str]) -> dict[str, Place]:
        """Return id -> where the memory comes from, of those that exist."""
        return {
            key: Place(one.source, one.scope.project, one.scope.spec, one.uri)
            for key, one in self.get(ids).items()
        }

    def chunks_by_id(self, ids: Iterable[str]) -> dict[str, tuple[str, ChunkRow]]:
        """Return chunk id -> (memory id, row for `chunk_from`) of those that exist."""
        ids, known = list(ids), self._kept.chunks
        if missing := [key for key in ids if key not in known]:
            known.update(super().chunks_by_id(missing))
        return {key: known[key] for key in ids if key in known}

    def some_chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """Return those of the chunks that exist, by id, with their texts."""
        ids, known = list(ids), self._chunks
        if missing := [key for key in dict.fromkeys(ids) if key not in known]:
            known.update(super().some_chunks(missing))
        return {key: known[key] for key in ids if key in known}


class KnownSupersessions(Supersessions):
    """The supersessions as one transaction sees them; of memories that have none, nothing is read."""

    def __init__(self, database: Database, kept: KeptRows) -> None:
        super().__init__(database)
        self._kept = kept

    def in_force(self, ids: Iterable[str]) -> dict[str, Supersession]:
        """Return id -> its present supersession, with the last memory of its chain as the newer one."""
        older = self._kept.those_in("supersessions.older", ids, self._database)
        return super().in_force(older) if older else {}

    def perhaps_outdated(self, ids: Iterable[str]) -> dict[str, Supersession]:
        """Return id -> its mark, with the memory that holds in the place of the newer one."""
        older = self._kept.those_in("supersessions.older", ids, self._database)
        return super().perhaps_outdated(older) if older else {}

    def replaced_by(self, ids: Sequence[str]) -> dict[str, list[Supersession]]:
        """Return newer memory -> its direct supersessions, latest first."""
        newer = self._kept.those_in("supersessions.newer", ids, self._database)
        return super().replaced_by(newer) if newer else {}


class KnownLives(Lives):
    """The lifecycle states as one transaction sees them; of memories without one, nothing is read."""

    def __init__(self, database: Database, kept: KeptRows) -> None:
        super().__init__(database)
        self._kept = kept

    def of(self, ids: Iterable[str]) -> dict[str, LifeRow]:
        """Return the stored states of these ids, archived memories included."""
        stored = self._kept.those_in("lives.id", ids, self._database)
        return super().of(stored) if stored else {}
