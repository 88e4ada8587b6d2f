"""LanceDB as it is documented: one table, its full text index, hybrid queries with its default fusion."""

from datetime import timedelta
from pathlib import Path

import lancedb
import pyarrow as pa
from lancedb.index import FTS
from peer_embeddings import embed
from peer_protocol import notes, serve, windows

BATCH = 256
DIMENSIONS = 384


class Lance:
    """A table of windows; a window's row names its file."""

    def __init__(self, folder: Path) -> None:
        self._database = lancedb.connect(folder / "lance")
        if "notes" in self._database.table_names():
            self._table = self._database.open_table("notes")
            return
        vector = pa.list_(pa.float32(), DIMENSIONS)
        schema = pa.schema({"name": pa.string(), "text": pa.string(), "vector": vector})
        self._table = self._database.create_table("notes", schema=schema)

    def ingest(self, folder: Path) -> None:
        """Add the windows of all files in batches, make the index, and join the parts into one."""
        pieces = [(name, piece) for name, text in notes(folder) for piece in windows(text)]
        for start in range(0, len(pieces), BATCH):
            self._add(pieces[start : start + BATCH])
        self._table.create_index("text", config=FTS())
        # Nobody else has the table open, so the former versions can go.
        self._table.optimize(cleanup_older_than=timedelta(0))

    def insert(self, name: str, text: str) -> None:
        """Add the windows of one text; until the next optimize, full text finds them by a scan."""
        self._add([(name, piece) for piece in windows(text)])

    def ask(self, text: str, limit: int) -> list[str]:
        """Query by words and by vector."""
        (vector,) = embed([text])
        query = self._table.search(query_type="hybrid").vector(vector).text(text).distance_type("cosine")
        return [row["name"] for row in query.limit(limit).to_list()]

    def close(self) -> None:
        """Leave it to the end of the process: each write is a file of its own."""

    def _add(self, pieces: list[tuple[str, str]]) -> None:
        vectors = embed([piece for _, piece in pieces])
        self._table.add(
            [
                {"name": name, "text": piece, "vector": vector}
                for (name, piece), vector in zip(pieces, vectors, strict=True)
            ]
        )


if __name__ == "__main__":
    serve(Lance)
