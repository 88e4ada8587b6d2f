"""The memories that questions have read: each is read once, and again when anything was written since."""

from collections.abc import Iterable

from ragmem.domain.model import Memory
from ragmem.storage.memories.memories import ChunkRow, Memories, Place
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import Outline

MOST_CHARACTERS = 4_000_000
"""Characters of texts that a thread keeps for its next questions: about what SQLite keeps of the file."""

MOST_CHUNKS = 10_000
"""Rows of chunks that a thread keeps: some 3 MB."""

MOST_OUTLINES = 5_000
"""Outlines that a thread keeps: some 2 MB."""


class KeptRows:
    """What former questions of a thread have read, by ids."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.outlines: dict[str, Outline] = {}
        self.chunks: dict[str, tuple[str, ChunkRow]] = {}
        self.characters = 0

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
