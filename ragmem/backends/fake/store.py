"""A store in one plain table that compares everything with everything."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ragmem.backends.question_vectors import validate_query
from ragmem.backends.simple_store import Entry, SimpleStore, entry_from_json
from ragmem.ports import Mode, Models, NativeModes
from ragmem.ports.graph_document import walk_graph
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import table_exists

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS fake_entries"
    " (memory_id TEXT PRIMARY KEY, position INTEGER NOT NULL, entry TEXT NOT NULL)"
)
_ADD = (
    "INSERT INTO fake_entries (memory_id, position, entry)"
    " SELECT CAST(? AS TEXT), coalesce(max(position), 0) + 1, CAST(? AS TEXT) FROM fake_entries"
)


class FakeStore(SimpleStore):
    """Entries as JSON in a table of the database."""

    name = "fake"

    def __init__(self, models: Models, database: Database) -> None:
        super().__init__(models)
        self._database = database

    @property
    def native(self) -> NativeModes:
        """The store itself: it imitates LightRAG's modes."""
        return self

    def write(
        self, entries: Sequence[Entry], *, remove: Sequence[str], finish: Callable[[], None] | None
    ) -> None:
        """Replace entries in one transaction."""
        with self._database.write() as connection:
            connection.execute(_SCHEMA)
            connection.executemany("DELETE FROM fake_entries WHERE memory_id = ?", [(key,) for key in remove])
            connection.executemany(_ADD, [(entry.memory_id, entry.to_json()) for entry in entries])
            if finish is not None:
                finish()

    def entries(self) -> Iterable[Entry]:
        """Return all entries in the order of their writing."""
        if not self._database.exists():
            return []
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "fake_entries"):
                return []
            rows = connection.execute("SELECT entry FROM fake_entries ORDER BY position").fetchall()
        return [entry_from_json(text) for (text,) in rows]

    def native_query(
        self,
        query: str,
        mode: Mode,
        *,
        keywords: Sequence[str],
        themes: Sequence[str] = (),
        limit: int,
        project: str,
    ) -> Mapping[str, Any]:
        """Return a document of LightRAG's form from the plain search."""
        question = " ".join([validate_query(query, mode), *keywords, *themes])
        chunks = [
            {"chunk_id": hit.chunk_id, "file_path": f"m-{hit.memory_id}", "reference_id": str(hit.rank)}
            for hit in self.search(question, limit=limit, projects=[project])
        ]
        return {
            "status": "success" if chunks else "failure",
            "message": "",
            "data": {"entities": [], "relationships": [], "chunks": chunks, "references": []},
            "metadata": {"query_mode": mode},
        }

    def subgraph(
        self, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
    ) -> Mapping[str, Any]:
        """Return the graph document around a label."""
        return walk_graph(self, label, depth=depth, limit=limit, project=project)
