"""A store in plain tables that compares everything with everything."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragmem.domain.model import Entity, Hit, Record, Relation
from ragmem.errors import BackendError, UsageError
from ragmem.ports import Mode, Models, VectorBlock
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import table_exists

if TYPE_CHECKING:
    from numpy.typing import NDArray

# {order} and {bytes} are what differs between SQLite, whose tables have a rowid anyway, and PostgreSQL.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS fake_memories (id TEXT PRIMARY KEY, project TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS fake_chunks (
  {order}id TEXT PRIMARY KEY, memory_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT NOT NULL,
  model TEXT NOT NULL, vector {bytes} NOT NULL
);
CREATE INDEX IF NOT EXISTS fake_chunks_by_memory ON fake_chunks (memory_id);
CREATE TABLE IF NOT EXISTS fake_entities (
  {order}memory_id TEXT NOT NULL, project TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
  description TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS fake_entities_by_memory ON fake_entities (memory_id);
CREATE TABLE IF NOT EXISTS fake_relations (
  {order}memory_id TEXT NOT NULL, project TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
  keywords TEXT NOT NULL, description TEXT NOT NULL, weight FLOAT NOT NULL
);
CREATE INDEX IF NOT EXISTS fake_relations_by_memory ON fake_relations (memory_id);
CREATE TABLE IF NOT EXISTS fake_mentions (
  memory_id TEXT NOT NULL, project TEXT NOT NULL, chunk_id TEXT NOT NULL, name TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS fake_mentions_by_memory ON fake_mentions (memory_id);
CREATE TABLE IF NOT EXISTS fake_relating (
  {order}memory_id TEXT NOT NULL, project TEXT NOT NULL, chunk_id TEXT NOT NULL, source TEXT NOT NULL,
  target TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS fake_relating_by_memory ON fake_relating (memory_id)
"""
_TYPES = {
    "sqlite": {"order": "", "bytes": "BLOB"},
    "postgres": {"order": "rowid BIGINT GENERATED ALWAYS AS IDENTITY, ", "bytes": "BYTEA"},
}
_ENTITY = "(memory_id, project, name, type, description)"
_RELATION = "(memory_id, project, source, target, keywords, description, weight)"
_TABLES = {
    "memories": "fake_memories",
    "vectors": "fake_chunks",
    "entities": "fake_entities",
    "relations": "fake_relations",
    "mentions": "fake_mentions",
    "relating": "fake_relating",
}


class FakeStore:
    """Vectors and graph in plain tables; every search compares every chunk."""

    def __init__(self, models: Models, database: Database) -> None:
        self._models = models
        self._database = database
        self._created = False

    def _create(self) -> None:
        if self._created:
            return
        with self._database.write() as connection:
            for statement in _SCHEMA.format(**_TYPES[self._database.dialect]).split(";"):
                connection.execute(statement)
        self._created = True

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query; none while the tables do not exist."""
        if not self._created and not self._database.exists():
            return []
        with self._database.read() as connection:
            if not self._created:
                self._created = table_exists(self._database, connection, "fake_relating")
            return connection.execute(statement, values).fetchall() if self._created else []

    def prepare(self, records: Sequence[Record]) -> None:
        """Do nothing: these vectors cost nothing."""

    def put(self, records: Sequence[Record], *, finish: Callable[[], None] | None = None) -> None:
        """Index the records, all or nothing."""
        self._create()
        embedder = self._models.embedder
        # The last one wins, as when they are put one after the other.
        records = list({record.memory.id: record for record in records}.values())
        chunks = [(record.memory, chunk) for record in records for chunk in record.chunks]
        vectors = embedder.embed([chunk.searchable for _, chunk in chunks], role="document")
        with self._database.write() as connection:
            self._remove([record.memory.id for record in records])
            connection.executemany(
                "INSERT INTO fake_memories VALUES (?, ?)",
                [(record.memory.id, record.memory.scope.project) for record in records],
            )
            connection.executemany(
                "INSERT INTO fake_chunks (id, memory_id, project, text, model, vector)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET memory_id = excluded.memory_id,"
                " project = excluded.project, text = excluded.text, model = excluded.model,"
                " vector = excluded.vector",
                [
                    (chunk.id, memory.id, memory.scope.project, chunk.text, embedder.model_id, row.tobytes())
                    for (memory, chunk), row in zip(chunks, vectors, strict=True)
                ],
            )
            for record in records:
                owner = (record.memory.id, record.memory.scope.project)
                for extraction in record.extractions:
                    connection.executemany(
                        f"INSERT INTO fake_entities {_ENTITY} VALUES (?, ?, ?, ?, ?)",
                        [(*owner, one.name, one.type, one.description) for one in extraction.entities],
                    )
                    connection.executemany(
                        "INSERT INTO fake_mentions VALUES (?, ?, ?, ?)",
                        [
                            (*owner, extraction.chunk_id, name)
                            for name in dict.fromkeys(one.name for one in extraction.entities)
                        ],
                    )
                    connection.executemany(
                        f"INSERT INTO fake_relations {_RELATION} VALUES (?, ?, ?, ?, ?, ?, ?)",
                        [
                            (
                                *owner,
                                *sorted((one.source, one.target)),
                                one.keywords,
                                one.description,
                                one.weight,
                            )
                            for one in extraction.relations
                            if one.source != one.target
                        ],
                    )
                    connection.executemany(
                        "INSERT INTO fake_relating (memory_id, project, chunk_id, source, target)"
                        " VALUES (?, ?, ?, ?, ?)",
                        [
                            (*owner, extraction.chunk_id, *sorted((one.source, one.target)))
                            for one in extraction.relations
                            if one.source != one.target
                        ],
                    )
            if finish is not None:
                finish()

    def delete(self, memory_ids: Sequence[str], *, finish: Callable[[], None] | None = None) -> None:
        """Remove everything that only these memories brought in; unknown ids are ignored."""
        self._create()
        with self._database.write():
            self._remove(memory_ids)
            if finish is not None:
                finish()

    def _remove(self, memory_ids: Sequence[str]) -> None:
        with self._database.write() as connection:
            for table in _TABLES.values():
                column = "id" if table == "fake_memories" else "memory_id"
                connection.executemany(
                    f"DELETE FROM {table} WHERE {column} = ?", [(key,) for key in memory_ids]
                )

    def search(self, query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        """Return the nearest chunks by vector, best first."""
        if not query.strip() or limit < 1:
            return []
        embedder = self._models.embedder
        every = self._rows("SELECT id, memory_id, project, model, vector FROM fake_chunks ORDER BY rowid")
        rows = [row for row in every if projects is None or row[2] in projects]
        if any(row[3] != embedder.model_id for row in rows):
            raise BackendError(
                f'the vectors were not made by the model "{embedder.model_id}"',
                hint="run `ragmem seed --rebuild`",
            )
        if not rows:
            return []
        matrix = np.frombuffer(b"".join(row[4] for row in rows), np.float32).reshape(len(rows), -1)
        cosines = matrix @ embedder.embed([query], role="query")[0]
        best = np.argsort(-cosines, kind="stable")[:limit]
        return [
            Hit(chunk_id=rows[n][0], memory_id=rows[n][1], rank=rank, score=float(cosines[n]))
            for rank, n in enumerate(best.tolist(), start=1)
        ]

    def similarities(
        self, query: str, chunk_ids: Sequence[str], *, projects: Sequence[str] | None = None
    ) -> Mapping[str, float]:
        """Return the cosines of these chunks with the question, of those that there are."""
        embedder = self._models.embedder
        wanted = set(chunk_ids)
        rows = [
            (key, vector)
            for key, project, model, vector in self._rows(
                "SELECT id, project, model, vector FROM fake_chunks"
            )
            if key in wanted and model == embedder.model_id and (projects is None or project in projects)
        ]
        if not query.strip() or not rows:
            return {}
        question = embedder.embed([query], role="query")[0]
        return {key: float(np.frombuffer(vector, np.float32) @ question) for key, vector in rows}

    def answering_model(self) -> str:
        """Return the id of the embedder's model."""
        return self._models.embedder.model_id

    def vector_blocks(
        self, project: str, *, memory_ids: Sequence[str] | None = None
    ) -> Iterator[VectorBlock]:
        """Yield the vectors of a project's chunks, or of those of some memories, all at once."""
        rows = [
            row
            for row in self._rows(
                "SELECT id, memory_id, vector FROM fake_chunks WHERE project = ? AND model = ? ORDER BY id",
                [project, self.answering_model()],
            )
            if memory_ids is None or row[1] in memory_ids
        ]
        if rows:
            matrix = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1)
            yield VectorBlock([row[0] for row in rows], [row[1] for row in rows], matrix)

    def nearest_to(self, vectors: "NDArray[np.float32]", *, limit: int, project: str) -> list[list[Hit]]:
        """Return the nearest chunks of a project for each vector, best first."""
        found: list[list[Hit]] = [[] for _ in vectors]
        for block in self.vector_blocks(project):
            for hits, cosines in zip(found, vectors @ block.vectors.T, strict=True):
                hits += [
                    Hit(block.chunk_ids[n], block.memory_ids[n], rank, float(cosines[n]))
                    for rank, n in enumerate(np.argsort(-cosines, kind="stable")[:limit].tolist(), start=1)
                ]
        return found

    def mentions(
        self, chunk_ids: Sequence[str], *, project: str, most: int
    ) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Return chunk -> entity -> the chunks that name it; what more than `most` name is left out."""
        rows = self._rows("SELECT chunk_id, name FROM fake_mentions WHERE project = ?", [project])
        naming: dict[str, list[str]] = {}
        for chunk, name in rows:
            naming.setdefault(name, []).append(chunk)
        wanted = set(chunk_ids)
        found: dict[str, dict[str, Sequence[str]]] = {chunk: {} for chunk, _ in rows if chunk in wanted}
        for chunk, name in rows:
            if chunk in wanted and len(naming[name]) <= most:
                found[chunk][name] = naming[name]
        return found

    def nodes(self, project: str) -> Iterator[tuple[Entity, int]]:
        """Yield every entity of a project with its degree, by name."""
        found = self.entities(limit=sys.maxsize, project=project)
        yield from sorted(found, key=lambda pair: pair[0].name)

    def edges(self, project: str) -> Iterator[Relation]:
        """Yield every relation of a project, by source and target."""
        _, relations = self._graph(project)
        yield from sorted((one for _, one in relations), key=lambda one: (one.source, one.target))

    def chunks_naming(self, names: Sequence[str], *, project: str, most: int) -> Mapping[str, Sequence[str]]:
        """Return entity -> the chunks that name it, those stored last first."""
        rows = self._rows(
            "SELECT c.rowid, m.name, m.chunk_id FROM fake_mentions m JOIN fake_chunks c ON c.id = m.chunk_id"
            " WHERE m.project = ?",
            [project],
        )
        wanted = set(names)
        found: dict[str, list[str]] = {}
        for _, name, chunk in sorted(rows, reverse=True):
            if name in wanted:
                found.setdefault(name, []).append(chunk)
        return {name: chunks[:most] for name, chunks in found.items()}

    def chunks_relating(
        self, pairs: Sequence[tuple[str, str]], *, project: str, most: int
    ) -> Mapping[tuple[str, str], Sequence[str]]:
        """Return pair -> the chunks that relate these entities, those stored last first."""
        rows = self._rows(
            "SELECT DISTINCT c.rowid, r.source, r.target, r.chunk_id FROM fake_relating r"
            " JOIN fake_chunks c ON c.id = r.chunk_id WHERE r.project = ?",
            [project],
        )
        found: dict[tuple[str, str], list[str]] = {}
        for _, source, target, chunk in sorted(rows, reverse=True):
            found.setdefault((source, target), []).append(chunk)
        ends = {pair: (min(pair), max(pair)) for pair in pairs}
        return {pair: found[key][:most] for pair, key in ends.items() if key in found}

    def _graph(self, project: str | None) -> tuple[dict[tuple[str, str], Entity], list[tuple[str, Relation]]]:
        """Return the entities by (project, name) and the merged relations with their project."""
        condition, values = ("WHERE project = ?", [project]) if project is not None else ("", [])
        entities: dict[tuple[str, str], Entity] = {}
        for space, name, kind, description in self._rows(
            f"SELECT project, name, type, description FROM fake_entities {condition} ORDER BY rowid", values
        ):
            entities.setdefault((space, name), Entity(name, kind, description))
        merged: dict[tuple[str, str, str], Relation] = {}
        for space, source, target, keywords, description, weight in self._rows(
            "SELECT project, source, target, keywords, description, weight"
            f" FROM fake_relations {condition} ORDER BY rowid",
            values,
        ):
            before = merged.get((space, source, target))
            merged[space, source, target] = Relation(
                source, target, keywords, description, weight + (before.weight if before else 0.0)
            )
            for name in (source, target):
                entities.setdefault((space, name), Entity(name, "UNKNOWN", description))
        return entities, [(space, relation) for (space, _, _), relation in merged.items()]

    def entities(
        self, prefix: str = "", *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Entity, int]]:
        """Return entities whose name starts with the prefix with their degree, most connected first."""
        entities, relations = self._graph(project)
        degrees = dict.fromkeys(entities, 0)
        for space, relation in relations:
            degrees[space, relation.source] += 1
            degrees[space, relation.target] += 1
        found = [
            (entity, degrees[key])
            for key, entity in entities.items()
            if entity.name.lower().startswith(prefix.lower())
        ]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].name))[:limit]

    def neighbours(
        self, name: str, *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Relation, Entity]]:
        """Return the relations of an entity with the entity at the other end, heaviest first."""
        entities, relations = self._graph(project)
        found = [
            (relation, entities[space, relation.target if relation.source == name else relation.source])
            for space, relation in relations
            if name in (relation.source, relation.target)
        ]
        return sorted(found, key=lambda pair: (-pair[0].weight, pair[0].source, pair[0].target))[:limit]

    def subgraph(
        self, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
    ) -> Mapping[str, Any]:
        """Return {nodes, edges, is_truncated} around a label ("*": the most connected)."""
        entities, relations = self._graph(project)
        names = list(dict.fromkeys(name for _, name in entities))
        if label == "*":
            kept = list(
                dict.fromkeys(
                    entity.name for entity, _ in self.entities(limit=len(entities), project=project)
                )
            )
        else:
            kept = [label] if label in names else []
            for _ in range(depth):
                ends = [(one.source, one.target) for _, one in relations]
                kept += [
                    other for pair in ends for other in pair if set(pair) & set(kept) and other not in kept
                ]
                kept = list(dict.fromkeys(kept))
        inside = set(kept[:limit])
        described = {entity.name: entity for entity in entities.values()}
        return {
            "nodes": [
                {
                    "id": name,
                    "labels": [name],
                    "properties": {
                        "entity_type": described[name].type,
                        "description": described[name].description,
                    },
                }
                for name in kept[:limit]
            ],
            "edges": [
                {
                    "id": f"{one.source}-{one.target}",
                    "type": "DIRECTED",
                    "source": one.source,
                    "target": one.target,
                    "properties": {"weight": one.weight, "keywords": one.keywords},
                }
                for _, one in relations
                if one.source in inside and one.target in inside
            ],
            "is_truncated": len(kept) > limit,
        }

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
        """Return a document of the real one's form, from the plain search."""
        if len(query.strip()) < 3:
            raise UsageError(f'the query "{query.strip()}" is too short', hint="use at least 3 characters")
        hits = self.search(" ".join([query, *keywords, *themes]), limit=limit, projects=[project])
        texts = dict(self._rows("SELECT id, text FROM fake_chunks WHERE project = ?", [project]))
        chunks = [
            {
                "chunk_id": hit.chunk_id,
                "content": texts[hit.chunk_id],
                "file_path": f"m-{hit.memory_id}",
                "reference_id": str(hit.rank),
            }
            for hit in hits
        ]
        return {
            "status": "success" if chunks else "failure",
            "message": "",
            "data": {"entities": [], "relationships": [], "chunks": chunks, "references": []},
            "metadata": {"query_mode": mode},
        }

    def memory_ids(self) -> set[str]:
        """Return the ids of all memories that are in the store."""
        return {key for (key,) in self._rows("SELECT id FROM fake_memories")}

    def statistics(self) -> Mapping[str, int]:
        """Return counts."""
        entities, relations = self._graph(None)
        chunks = len(self._rows("SELECT 1 FROM fake_chunks"))
        return {
            "documents": len(self.memory_ids()),
            "chunks": chunks,
            "vectors": chunks,
            "entities": len(entities),
            "relations": len(relations),
        }

    def sweep(self, *, dry_run: bool = False) -> Mapping[str, int]:
        """Remove what belongs to no memory."""
        orphans = {
            name: f"FROM {table} WHERE memory_id NOT IN (SELECT id FROM fake_memories)"
            for name, table in list(_TABLES.items())[1:]
        }
        if dry_run:
            return {name: len(self._rows(f"SELECT 1 {rows}")) for name, rows in orphans.items()}
        self._create()
        with self._database.write() as connection:
            return {name: connection.execute(f"DELETE {rows}").rowcount for name, rows in orphans.items()}

    def check(self, *, deep: bool = False) -> list[str]:
        """Return which tables have rows of no memory; deep: and which vectors have another length."""
        owners = self.memory_ids()
        found = []
        for name, table in list(_TABLES.items())[1:]:
            orphans = [key for (key,) in self._rows(f"SELECT memory_id FROM {table}") if key not in owners]
            if orphans:
                found.append(f"{len(orphans)} {name} are of no memory: {orphans[0]}")
        if deep:
            size = self._models.embedder.dimensions * np.dtype(np.float32).itemsize
            wrong = self._rows("SELECT id FROM fake_chunks WHERE length(vector) <> ?", [size])
            found += [f"the vector of {key} has another length" for (key,) in wrong]
        return found

    def vector_models(self) -> Mapping[tuple[str, int], int]:
        """Return how many vectors there are by model and dimensions."""
        return {
            (model, length // 4): count
            for model, length, count in self._rows(
                "SELECT model, length(vector), count(*) FROM fake_chunks GROUP BY 1, 2"
            )
        }

    def repair(self, *, whole: bool = False) -> Mapping[str, int]:
        """Take out memories with a vector of another length or model, or all of them, and what is unowned."""
        model = self._models.embedder.model_id
        damaged = "SELECT memory_id FROM fake_chunks WHERE model <> ? OR length(vector) <> ?"
        width = self._models.embedder.dimensions * 4
        ids = self.memory_ids() if whole else {key for (key,) in self._rows(damaged, [model, width])}
        self.delete(sorted(ids))
        return {"memories": len(ids), "orphans": sum(self.sweep().values())}

    def close(self) -> None:
        """Do nothing: the database belongs to the caller."""
