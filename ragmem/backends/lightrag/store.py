"""The store on compact tables, of which LightRAG's rows are made; only its own modes import LightRAG."""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from ragmem.backends.lightrag import graph_dump
from ragmem.backends.lightrag.read_only import ModelStub
from ragmem.backends.lightrag.rows import names, reads, schema
from ragmem.backends.lightrag.rows.chunk_nodes import unpack
from ragmem.backends.lightrag.rows.keys import LISTED, SPACE, has_id, listed
from ragmem.backends.lightrag.rows.names import VectorKey
from ragmem.backends.lightrag.rows.records import chunk_texts
from ragmem.backends.lightrag.rows.records import fingerprint as fingerprint_of
from ragmem.backends.lightrag.storages import home
from ragmem.backends.lightrag.vectors import second_model
from ragmem.backends.lightrag.vectors.vector_index import VectorHit, VectorIndex
from ragmem.backends.question_vectors import QuestionCache, validate_query
from ragmem.domain.model import Entity, Hit, Record, Relation, ranked_hits
from ragmem.errors import BackendError
from ragmem.ports import Embedder, Mode, Models, NativeModes, Refuse, TextsOf, TwoModels, VectorBlock
from ragmem.storage.sql import schema_check
from ragmem.storage.sql.sqlite import SQLiteDatabase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragmem.backends.lightrag.engine import Engine

P = ParamSpec("P")
Value = TypeVar("Value")

_CHUNKS = (
    f"SELECT c.id, c.n, c.nodes FROM {LISTED} AS wanted"
    f" CROSS JOIN store_chunks AS c ON {has_id('c', 'wanted.value')} AND c.space = {SPACE}"
)
_MENTIONS = (
    f"SELECT o.id, x.chunk, other.id FROM {LISTED} AS wanted"
    " CROSS JOIN store_nodes AS o ON o.n = wanted.value"
    " CROSS JOIN store_mentions AS x ON x.node = o.n CROSS JOIN store_chunks AS other ON other.n = x.chunk"
    # One more tells a hub.
    " WHERE NOT EXISTS (SELECT 1 FROM store_mentions WHERE node = o.n LIMIT 1 OFFSET ?)"
    " ORDER BY o.id, x.chunk"
)


class LightRAGStore:
    """Memories as LightRAG documents, each project a workspace, in the catalog's database.

    `native_query` runs LightRAG's coroutines in the calling thread, which must have no running event loop of
    its own. All methods may be called from several threads.
    """

    name = "lightrag"

    def __init__(self, options: Mapping[str, object], models: Models, database: SQLiteDatabase) -> None:
        self._database = database
        self._models = models
        self._index = VectorIndex(database)
        self._home = home.Home(database=database, models=models, index=self._index)
        self._options = options
        self._questions = QuestionCache()
        self._opened_engine: Engine | None = None
        self._engine_guard = threading.Lock()
        self._ready: tuple[int, ...] | None = None
        self._ahead: dict[VectorKey, tuple[str, str, NDArray[np.float32]]] = {}
        self._ahead_guard = threading.Lock()
        home.register(self._home)

    @property
    def native(self) -> NativeModes:
        """The store itself: it has LightRAG's modes."""
        return self

    @property
    def two_models(self) -> TwoModels:
        """The store itself: it holds the vectors of two models."""
        return self

    @property
    def _engine(self) -> "Engine":
        embedder = self._models.embedder
        with self._engine_guard:
            if self._opened_engine is not None and self._opened_engine.model_id != embedder.model_id:
                # Another model answers by now, and LightRAG supports one length of vectors.
                self._opened_engine.close()
                self._opened_engine = None
            if self._opened_engine is None:
                from ragmem.backends.lightrag.engine import Engine

                self._opened_engine = Engine(self._home, self._options, embedder)
            return self._opened_engine

    def _create(self) -> None:
        if self._ready is None or self._ready != self._database.identity:
            schema.create(self._database)
            self._ready = self._database.identity

    def _readable(self) -> bool:
        if self._ready is None or self._ready != self._database.identity:
            self._ready = self._database.identity if schema.is_ready(self._database) else None
        return self._ready is not None

    def _read(
        self,
        empty: Value,
        read: Callable[Concatenate[sqlite3.Connection, P], Value],
        *given: P.args,
        **options: P.kwargs,
    ) -> Value:
        """Return the result of `read`, or `empty` while there are no tables."""
        if not self._readable():
            return empty
        with self._database.read() as connection:
            return read(connection, *given, **options)

    def prepare(self, records: Sequence[Record]) -> None:
        """Embed in advance for `put` of these records; may run in a thread while another put merges."""
        from ragmem.backends.lightrag import ingest

        self._create()
        embedder = self._models.embedder
        vectors = ingest.embed(self._database, embedder, records)
        with self._ahead_guard:
            texts = chunk_texts(records)
            self._ahead.update(
                {key: (texts[key], embedder.model_id, vector) for key, vector in vectors.items()}
            )

    def _take_ahead(self, records: Sequence[Record], model: str) -> "dict[VectorKey, NDArray[np.float32]]":
        with self._ahead_guard:
            if not self._ahead:
                return {}
            taken = [(key, text, self._ahead.pop(key, None)) for key, text in chunk_texts(records).items()]
        # The record or the model may have changed since, and then its vectors are outdated.
        return {
            key: ahead[2] for key, text, ahead in taken if ahead is not None and ahead[:2] == (text, model)
        }

    def put(self, records: Sequence[Record], *, finish: Callable[[], None] | None = None) -> None:
        """Index the records, all or nothing; unchanged records are skipped.

        Raises BackendError when the embedder fails, StoreBusyError and StorageError as the database does.
        """
        self._create()
        while not self._put(records, finish):
            pass  # another model took over meanwhile, which happens once

    def _put(self, records: Sequence[Record], finish: Callable[[], None] | None) -> bool:
        """Index the records; return False, and change nothing, if another model answers by now."""
        from ragmem.backends.lightrag import ingest

        embedder = self._models.embedder
        model = embedder.model_id
        wanted = {record.memory.id: (record, fingerprint_of(record, model)) for record in records}
        changed = self._select_changed(wanted, self._stored_hashes(wanted))
        ready = self._take_ahead(records, model)
        prepared = ready | ingest.embed(
            self._database, embedder, [record for record, _ in changed], without=ready
        )
        with self._database.write() as connection:
            if self._models.embedder.model_id != model:
                return False
            if changed:
                # Read again: another process may have put the same records meanwhile.
                stored = self._stored_hashes(wanted)
                changed = self._select_changed(wanted, stored)
                replaced = {key for _, key in stored} & {record.memory.id for record, _ in changed}
                prepared |= ingest.reusable_vectors(
                    connection, model, [record for record, _ in changed if record.memory.id in replaced]
                )
                if replaced:
                    from ragmem.backends.lightrag import deletion

                    deletion.delete_memories(connection, sorted(replaced))
                ingest.insert(connection, changed, model, prepared)
            if finish is not None:
                finish()
        return True

    def _stored_hashes(self, wanted: Iterable[str]) -> dict[tuple[str, str], str]:
        with self._database.read() as connection:
            return reads.content_hashes(connection, wanted)

    @staticmethod
    def _select_changed(
        wanted: Mapping[str, tuple[Record, str]], stored: Mapping[tuple[str, str], str]
    ) -> list[tuple[Record, str]]:
        return [
            (record, fingerprint)
            for key, (record, fingerprint) in wanted.items()
            if stored.get((record.memory.scope.project, key)) != fingerprint
        ]

    def vectors(self, records: Sequence[Record]) -> "Mapping[str, NDArray[np.float32]]":
        """Return embedded text -> stored vector of the records."""
        if not self._readable():
            return {}
        from ragmem.backends.lightrag import ingest

        return ingest.vectors_of(self._database, self._models.embedder.model_id, records)

    def delete(self, memory_ids: Sequence[str], *, finish: Callable[[], None] | None = None) -> None:
        """Remove everything that only these memories brought in; unknown ids are ignored."""
        from ragmem.backends.lightrag import deletion

        self._create()
        with self._database.write() as connection:
            deletion.delete_memories(connection, dict.fromkeys(memory_ids))
            if finish is not None:
                finish()

    def search(self, query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        """Return the nearest chunks, best first; raises BackendError where another model made the vectors."""
        if not query.strip() or not self._readable():
            return []
        embedder = self._models.embedder
        while True:
            vector = self._questions.embed(embedder, query)
            with self._database.read():
                answering = self._models.embedder
                try:
                    hits = self._index.search(
                        names.CHUNKS, embedder.model_id, vector, limit=limit, workspaces=projects
                    )
                except BackendError:
                    if embedder.model_id == answering.model_id:
                        raise
            if answering.model_id == embedder.model_id:
                break
            embedder = answering  # another model took over meanwhile, and the old vectors will be removed
        return _hits(hits)

    def similarities(
        self, query: str, chunk_ids: Sequence[str], *, projects: Sequence[str] | None = None
    ) -> Mapping[str, float]:
        """Return the cosines of these chunks with the question, of those that have a vector."""
        if not query.strip() or not chunk_ids or not self._readable():
            return {}
        embedder = self._models.embedder
        vector = self._questions.vector(embedder, query)
        return self._index.similarities(embedder.model_id, vector, chunk_ids, workspaces=projects)

    def answering_model(self) -> str:
        """Return the id of the model that answers questions."""
        return self._models.embedder.model_id

    def vector_blocks(
        self, project: str, *, memory_ids: Sequence[str] | None = None
    ) -> Iterator[VectorBlock]:
        """Yield the vectors of a project's chunks, or of those of some memories."""
        from ragmem.backends.lightrag.vectors import bulk

        if self._readable():
            model = self.answering_model()
            if memory_ids is None:
                yield from bulk.blocks(self._database, project, model)
            else:
                yield from bulk.blocks_of(self._database, project, model, memory_ids)

    def reader(self) -> "Callable[[SQLiteDatabase], LightRAGStore]":
        """Return the function with which another process opens a read-only store on the database."""
        return partial(open_read_only, self.answering_model())

    def nearest_to(self, vectors: "NDArray[np.float32]", *, limit: int, project: str) -> list[list[Hit]]:
        """Return the nearest chunks of a project for each vector, best first."""
        if not self._readable():
            return [[] for _ in vectors]
        model = self.answering_model()
        return [
            _hits(self._index.search(names.CHUNKS, model, vector, limit=limit, workspaces=[project]))
            for vector in vectors
        ]

    def mentions(
        self, chunk_ids: Sequence[str], *, project: str, most: int
    ) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Return chunk -> entity -> the chunks that name it, without entities that more than `most` name."""
        return self._read({}, _mentions, project, chunk_ids, most=most) if chunk_ids else {}

    def entities(
        self, prefix: str = "", *, limit: int = 50, project: str | None = None, described: bool = True
    ) -> list[tuple[Entity, int]]:
        """Return entities whose name starts with the prefix (any case) with their degree."""
        return self._read([], reads.entities, prefix, limit=limit, project=project, described=described)

    def neighbours(
        self, name: str, *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Relation, Entity]]:
        """Return the relations of an entity with the entity at the other end, heaviest first."""
        return self._read([], reads.neighbours, name, limit=limit, project=project)

    def subgraph(
        self, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
    ) -> Mapping[str, Any]:
        """Return LightRAG's graph document around a label ("*": the most connected)."""
        return self._read(
            {"nodes": [], "edges": [], "is_truncated": False},
            reads.subgraph,
            label,
            depth=depth,
            limit=limit,
            project=project,
        )

    def nodes(self, project: str, *, described: bool = True) -> Iterator[tuple[Entity, int]]:
        """Yield every entity of a project with its degree, by name; reads some at a time."""
        if not self._readable():
            return iter(())
        return graph_dump.nodes(self._database, project, described=described)

    def edges(self, project: str, *, described: bool = True) -> Iterator[Relation]:
        """Yield every relation of a project, by source and target; reads some at a time."""
        if not self._readable():
            return iter(())
        return graph_dump.edges(self._database, project, described=described)

    def chunks_naming(self, names: Sequence[str], *, project: str, most: int) -> Mapping[str, Sequence[str]]:
        """Return entity -> the chunks that name it, those stored last first."""
        return self._read({}, graph_dump.chunks_naming, project, names, most=most)

    def chunks_relating(
        self, pairs: Sequence[tuple[str, str]], *, project: str, most: int
    ) -> Mapping[tuple[str, str], Sequence[str]]:
        """Return pair of entities -> the chunks that relate them, those stored last first."""
        return self._read({}, graph_dump.chunks_relating, project, pairs, most=most)

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
        """Return LightRAG's aquery_data document; raises UsageError for a query that is too short for it."""
        query = validate_query(query, mode)
        from ragmem.backends.lightrag import native

        self._create()
        return native.native_query(
            self._engine, query, mode, keywords=keywords, themes=themes, limit=limit, project=project
        )

    def memory_ids(self) -> set[str]:
        """Return the ids of all memories that are in the store."""
        return self._read(set(), reads.memory_ids)

    def statistics(self) -> Mapping[str, int]:
        """Return counts: documents, chunks, vectors, entities, relations, workspaces."""
        return self._read(reads.NO_STATISTICS, reads.statistics)

    def sweep(self, *, dry_run: bool = False) -> Mapping[str, int]:
        """Remove rows that belong to no memory, and compact; return the counts (to be) removed by kind."""
        from ragmem.backends.lightrag import sweep

        if not self._readable():
            return dict(sweep.NOTHING)
        figures = dict(sweep.sweep(self._database, dry_run=dry_run))
        figures["sidecar_rows"] = self._index.compact(dry_run=dry_run)
        return figures

    def check(self, *, deep: bool = False) -> list[str]:
        """Return contradictions of tables and vector files, one line each; deep: reads vectors too."""
        from ragmem.backends.lightrag import invariants

        if not self._readable():
            return []
        lacking = schema_check.find_damage(self._database, schema.STORE).text
        found = [f"the store is incomplete: {lacking}"] if lacking else []
        if lacking:
            return found
        with self._database.read() as connection:
            model = self._model_that_answers()
            found += invariants.violations(connection, model)
            if deep:
                found += invariants.evidence_violations(connection)
                found += invariants.vector_violations(connection, self._models.embedder) if model else []
        return found + [f"vector files of {name}: {problem}" for name, problem in self._index.check()]

    def _model_that_answers(self) -> str:
        try:
            return self._models.embedder.model_id
        except BackendError:  # the checks of the models report it
            return ""

    def vector_models(self) -> Mapping[tuple[str, int], int]:
        """Return how many vectors there are of each model and number of dimensions."""
        return self._read({}, reads.vector_models)

    def model_of_most(self) -> tuple[str, int] | None:
        """Return the model of most vectors and its number of dimensions; None where there are no vectors."""
        return self._read(None, second_model.model_of_most)

    def has_vectors_of(self, model: str) -> bool:
        """Return whether any vector is of this model."""
        return self._read(False, second_model.has_vectors_of, model)

    def second_model(self, model: str) -> tuple[int, int]:
        """Return how many vectors this model has, and how many a complete set has."""
        return self._read((0, 0), second_model.progress, model)

    def fill(self, embedder: Embedder, texts_of: TextsOf, refuse: Refuse) -> Iterator[int]:
        """Make the vectors that the embedder's model lacks, a batch in a transaction."""
        if self._readable():
            yield from second_model.fill(self._database, embedder, texts_of, refuse)

    def change_over(self, model: str, *, finish: Callable[[], None]) -> bool:
        """Call `finish` in a transaction if the model lacks no vector; return whether it was called."""
        self._create()
        self._index.warm(names.CHUNKS, model)
        return second_model.change_over(self._database, model, finish=finish)

    def drop_others(self, model: str) -> Iterator[int]:
        """Remove the vectors of all other models, some in each transaction, then their files."""
        if self._readable():
            yield from second_model.drop_others(self._database, model)
            self._index.compact(dry_run=False)

    def repair(self, *, whole: bool = False) -> Mapping[str, int]:
        """Remove damaged memories (or all), rewrite derived data; return counts by kind."""
        from ragmem.backends.lightrag.repair import repair

        figures = repair(self._database, self._index, self._models.embedder, whole=whole)
        self._index = self._home.index = VectorIndex(self._database)
        return figures

    def close(self) -> None:
        """Close LightRAG; the database belongs to the caller. Closing twice is fine."""
        if self._opened_engine is not None:
            self._opened_engine.close()
        home.forget(self._home)


def _hits(found: Sequence[VectorHit]) -> list[Hit]:
    if not found:
        return []
    _, chunks, _, memories, _, _, scores = zip(*found, strict=True)
    return ranked_hits(chunks, memories, scores)


def open_read_only(model_id: str, database: SQLiteDatabase) -> LightRAGStore:
    """Return a read-only store on a database, with the vectors of this model."""
    return LightRAGStore({}, ModelStub(model_id), database)


def _mentions(
    connection: sqlite3.Connection, workspace: str, chunk_ids: Sequence[str], *, most: int
) -> dict[str, dict[str, list[str]]]:
    """Return chunk -> entity -> the chunks that name it, without entities that more than `most` name.

    Reads at most one mention more of a hub. A chunk without such an entity is absent.
    """
    wanted: dict[int, str] = {}
    nodes: set[int] = set()
    for chunk, number, stored in connection.execute(_CHUNKS, (listed(dict.fromkeys(chunk_ids)), workspace)):
        wanted[number] = chunk
        nodes.update(unpack(stored))
    found: dict[str, dict[str, list[str]]] = {}
    rows = connection.execute(_MENTIONS, (listed(sorted(nodes)), most)).fetchall()
    for entity, some in groupby(rows, itemgetter(0)):
        numbers, others = zip(*((number, other) for _, number, other in some), strict=True)
        for number in numbers:
            # What is on a list only is not mentioned.
            if number in wanted:
                found.setdefault(wanted[number], {})[entity] = list(others)
    return found
