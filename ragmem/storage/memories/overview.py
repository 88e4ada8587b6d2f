"""Counts and lists of memories: by state and source, by place, by equal text."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from ragmem.domain.model import State
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import from_stamp

Column = Literal["state", "source", "kind", "tier", "project"]
"""The columns for counts."""


class Overview:
    """Counts and lists over all memories."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def duplicates(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return groups of exact duplicates within a project: (key, [(id, uri), ...] oldest first)."""
        rows = self._database.select(
            "SELECT m.project || '/' || m.spec || '/' || m.content_hash, m.id, m.uri FROM memories m"
            " JOIN (SELECT project, spec, content_hash FROM memories"
            " GROUP BY 1, 2, 3 HAVING count(*) > 1) d"
            " ON d.project = m.project AND d.spec = m.spec AND d.content_hash = m.content_hash"
            " ORDER BY 1, m.created_at, m.id"
        )
        groups: dict[str, list[tuple[str, str]]] = {}
        for key, identifier, uri in rows:
            groups.setdefault(key, []).append((identifier, uri))
        return list(groups.items())

    def places(self, *, sources: Sequence[str] = ()) -> list[tuple[str, str, str]]:
        """Return (id, source, uri) of all memories, or of those of some sources."""
        with self._database.read() as connection:
            where = f"WHERE source IN ({marks(sources)})" if sources else ""
            return connection.execute(
                f"SELECT id, source, uri FROM memories {where} ORDER BY source, uri", list(sources)
            ).fetchall()

    def count_pending(self, source: str) -> int:
        """Return how many memories of a source are waiting for vectors."""
        row = self._database.select_row(
            "SELECT count(*) FROM memories WHERE state = ? AND source = ?", (State.PENDING.value, source)
        )
        return int(row[0])

    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Return how many memories there are by state, source, kind, tier and project.

        Reads the texts for their lengths, which is too slow for each question: see `count_by`.
        """
        columns: tuple[Column, ...] = ("state", "source", "kind", "tier", "project")
        result: dict[str, Mapping[str, int]] = {column: self.count_by(column) for column in columns}
        with self._database.read() as connection:
            (chunks,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
            (characters,) = connection.execute(
                "SELECT coalesce(sum(length(text)), 0) FROM memories"
            ).fetchone()
        result["total"] = {
            "memories": sum(result["state"].values()),
            "chunks": int(chunks),
            "characters": int(characters),
        }
        return result

    def latest_by_project(self) -> dict[str, datetime]:
        """Return project -> when one of its memories was last written."""
        rows = self._database.select("SELECT project, max(updated_at) FROM memories GROUP BY project")
        return {project: from_stamp(at) for project, at in rows}

    def ids_of_project(self, project: str) -> set[str]:
        """Return the ids of the memories of a project."""
        return set(self._database.select_column("SELECT id FROM memories WHERE project = ?", (project,)))

    def count_by(self, column: Column) -> dict[str, int]:
        """Return how many memories there are by one of these, most first; reads no text."""
        return dict(
            self._database.select(f"SELECT {column}, count(*) FROM memories GROUP BY 1 ORDER BY 2 DESC, 1")
        )

    def chunks(self, state: State | None = None) -> int:
        """Return how many chunks there are, of all memories or of those in a state."""
        of_state = " WHERE memory IN (SELECT n FROM memories WHERE state = ?)" if state else ""
        return self._database.select_int(
            f"SELECT count(*) FROM chunks{of_state}", (state.value,) if state else ()
        )

    def source_rows(self) -> list[dict[str, object]]:
        """Return per source: memories, characters, first and last event time."""
        rows = self._database.select(
            "SELECT source, count(*), sum(length(text)), min(event_at), max(event_at), max(updated_at)"
            " FROM memories GROUP BY source ORDER BY source"
        )
        return [
            {
                "source": source,
                "memories": count,
                "characters": characters,
                "oldest": from_stamp(oldest),
                "newest": from_stamp(newest),
                "updated": from_stamp(updated),
            }
            for source, count, characters, oldest, newest, updated in rows
        ]
