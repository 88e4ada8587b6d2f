"""sqlite-vec and FTS5 in one SQLite file: as one would use it by hand, both lists fused by rank."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import sqlite_vec
from peer_embeddings import embed
from peer_protocol import notes, serve, windows

BATCH = 256

FUSION = 60
"""The constant of reciprocal rank fusion."""

POOL = 50
"""Windows of each list."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS pieces (id INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    text, content = 'pieces', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE VIRTUAL TABLE IF NOT EXISTS vectors USING vec0(
    id INTEGER PRIMARY KEY, vector FLOAT[384] distance_metric = cosine
);
"""


class SqliteVec:
    """Windows, their words and their float32 vectors."""

    def __init__(self, folder: Path) -> None:
        self._connection = connection = sqlite3.connect(folder / "notes.db")
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(SCHEMA)

    def ingest(self, folder: Path) -> None:
        """Add the windows of all files in batches, a transaction each."""
        pieces = [(name, piece) for name, text in notes(folder) for piece in windows(text)]
        for start in range(0, len(pieces), BATCH):
            self._add(pieces[start : start + BATCH])

    def insert(self, name: str, text: str) -> None:
        """Add the windows of one text in a transaction."""
        self._add([(name, piece) for piece in windows(text)])

    def ask(self, text: str, limit: int) -> list[str]:
        """Fuse what words find with what the vector finds."""
        (vector,) = embed([text])
        scores: defaultdict[int, float] = defaultdict(float)
        near = "SELECT id FROM vectors WHERE vector MATCH ? AND k = ? ORDER BY distance"
        lists = [self._connection.execute(near, (vector.tobytes(), POOL)).fetchall()]
        if words := " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text)):
            said = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
            lists.append(self._connection.execute(said, (words, POOL)).fetchall())
        for found in lists:
            for rank, (piece,) in enumerate(found):
                scores[piece] += 1 / (FUSION + rank)
        best = sorted(scores, key=lambda piece: -scores[piece])[:limit]
        name = "SELECT name FROM pieces WHERE id = ?"
        return [self._connection.execute(name, (piece,)).fetchone()[0] for piece in best]

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def _add(self, pieces: Sequence[tuple[str, str]]) -> None:
        vectors = embed([piece for _, piece in pieces])
        with self._connection:
            for (name, piece), vector in zip(pieces, vectors, strict=True):
                row = self._connection.execute(
                    "INSERT INTO pieces (name, text) VALUES (?, ?)", (name, piece)
                ).lastrowid
                self._connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (row, piece))
                self._connection.execute(
                    "INSERT INTO vectors (id, vector) VALUES (?, ?)", (row, vector.tobytes())
                )


if __name__ == "__main__":
    serve(SqliteVec)
