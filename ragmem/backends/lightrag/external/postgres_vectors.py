"""The chunks' vectors in PostgreSQL, beside the catalog: searched in one statement, for all projects at once.

LightRAG's own storage answers one workspace at a time, one caller at a time, and tells no cosines.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from ragmem.backends.lightrag.external.reads import Near
from ragmem.backends.lightrag.rows.views import PROCESSED
from ragmem.errors import BackendError, RagmemError
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.storage.home.postgres_schema import NAMESPACE

if TYPE_CHECKING:
    import numpy as np
    import psycopg
    from numpy.typing import NDArray

_SETTING = re.compile(r"search_path|(?:hnsw|ivfflat|vchordrq)\.\w+")
"""Settings of where tables are and how an index is searched; LightRAG's others matter to nothing here."""

_PLACED = f"""
  {NAMESPACE}.store_workspaces AS space ON space.store = %(store)s AND space.workspace = near.workspace
  {{join}} {NAMESPACE}.store_placements AS placed ON placed.store = space.store
  AND placed.memory_id = near.full_doc_id AND placed.project = space.project
"""


class _Connections(PostgresDatabase):
    """Connections on which LightRAG's tables and pgvector are found as LightRAG finds them.

    Without a transaction around it a search takes one message to the server instead of four.
    """

    def __init__(self, url: str, home: Path, settings: str) -> None:
        super().__init__(url, home)
        self._prepare = "SET search_path TO DEFAULT"
        for name, _, value in (pair.partition("=") for pair in settings.split("&")):
            if _SETTING.fullmatch(name):
                quoted = value.replace("'", "''")
                self._prepare += f"; SELECT set_config('{name}', '{quoted}', false)"

    def _open(self) -> "psycopg.Connection[Any]":
        raw = super()._open()
        with self._translated():
            raw.execute(self._prepare)
        return raw

    def rows(self, statement: str, given: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query; raises BackendError.

        It is planned for its own projects: a plan for the largest is slow for the smallest.
        """
        raw, fresh = self._take()
        try:
            with self._translated():
                return raw.execute(statement, given, prepare=False).fetchall()
        except RagmemError as error:
            if fresh or not raw.closed:
                raise BackendError(str(error), hint=error.hint) from error
        finally:
            self._put_back(raw)
        # It was closed while it lay ready, and the others are as old.
        self.close()
        return self.rows(statement, given)


class VectorSearch:
    """Searches in the table of the chunks' vectors, by connections of its own.

    They do without the member that acts: whoever searches for a member resolves the hits by the catalog.
    """

    def __init__(self, url: str, home: Path, *, store: str, table: str, cast: str, settings: str) -> None:
        self._connections = _Connections(url, home, settings)
        self._store = store
        self._table = table
        self._cast = cast

    def nearest(self, workspaces: Sequence[str], vector: "NDArray[np.float32]", limit: int) -> list[Near]:
        """Return up to `limit` chunks of these workspaces whose put was committed, nearest first."""
        asked = limit
        while True:
            rows = self._search(workspaces, vector, asked)
            found = [near for near, placed in rows if placed]
            if len(found) >= limit or len(rows) < asked:
                return found[:limit]
            # Documents that another process is writing, or left unfinished, do not count yet.
            asked += limit + asked - len(found)

    def _search(
        self, workspaces: Sequence[str], vector: "NDArray[np.float32]", limit: int
    ) -> list[tuple[Near, bool]]:
        """Return (chunk, whether its put was committed), by the index, else by comparing all."""
        distance = f"content_vector <=> %(vector)s::{self._cast}"
        nearest = (
            f"SELECT id, full_doc_id, workspace, {distance} AS distance FROM {self._table}"
            " WHERE workspace = ANY(%(workspaces)s)"
        )
        statement = (
            "{}SELECT near.id, near.full_doc_id, near.distance, placed.memory_id IS NOT NULL"
            f" FROM ({{}} ORDER BY {{}} LIMIT %(limit)s) AS near LEFT JOIN {_PLACED.format(join='LEFT JOIN')}"
            " ORDER BY near.distance, near.id"
        )
        given = {"workspaces": list(workspaces), "limit": limit}
        rows = self._rows(statement.format("", nearest, distance), vector, given)
        if len(rows) < limit:
            # The index gives up after some thousand rows of other projects. Who has so few is compared whole.
            every = f"WITH mine AS MATERIALIZED ({nearest}) "
            rows = self._rows(statement.format(every, "SELECT * FROM mine", "distance"), vector, given)
        # What has no direction is near to nothing, and comes last.
        return [(_near(row), row[3] and not math.isnan(row[2])) for row in rows]

    def cosines(
        self, chunk_ids: Sequence[str], vector: "NDArray[np.float32]", projects: Sequence[str] | None
    ) -> list[Near]:
        """Return those of the chunks that have a vector, of these projects (None: all)."""
        rows = self._rows(
            f"SELECT near.id, near.full_doc_id, near.content_vector <=> %(vector)s::{self._cast}"
            f" FROM {self._table} AS near JOIN {_PLACED.format(join='JOIN')}"
            " WHERE near.id = ANY(%(ids)s)"
            + (" AND space.project = ANY(%(projects)s)" if projects is not None else ""),
            vector,
            {"ids": list(chunk_ids), "projects": None if projects is None else list(projects)},
        )
        return [_near(row) for row in rows]

    def counts(self, workspaces: Sequence[str]) -> dict[str, int]:
        """Return what `reads.counts` does, of all these workspaces together, without reading their rows."""
        given = {"workspaces": list(workspaces), "complete": PROCESSED}
        [(documents, chunks, filled, entities, relations)] = self._connections.rows(
            "SELECT coalesce(sum(number), 0)::bigint, coalesce(sum(chunks), 0)::bigint, count(*),"
            " (SELECT count(*) FROM lightrag_graph_nodes WHERE workspace = ANY(%(workspaces)s)),"
            " (SELECT count(*) FROM lightrag_graph_edges WHERE workspace = ANY(%(workspaces)s))"
            " FROM (SELECT count(*) AS number, sum(chunks_count) AS chunks FROM lightrag_doc_status"
            " WHERE workspace = ANY(%(workspaces)s) AND status = %(complete)s GROUP BY workspace) AS filled",
            given,
        )
        return {
            "documents": documents,
            "chunks": chunks,
            "vectors": chunks + entities + relations,
            "entities": entities,
            "relations": relations,
            "workspaces": filled,
        }

    def _rows(
        self, statement: str, vector: "NDArray[np.float32]", given: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        text = orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode()
        return self._connections.rows(statement, {"vector": text, "store": self._store, **given})

    def close(self) -> None:
        """Close the connections; closing twice is fine."""
        self._connections.close()


def _near(row: Sequence[Any]) -> Near:
    chunk_id, memory_id, distance = row[:3]
    return Near(0.0 if math.isnan(distance) else 1.0 - distance, chunk_id, memory_id)
