"""The store on any of LightRAG's own storages: its JSON files, PostgreSQL, or what a configuration names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragmem.backends.lightrag import native
from ragmem.backends.lightrag.engine import Instance
from ragmem.backends.lightrag.external import check as foreign_check
from ragmem.backends.lightrag.external import merge, reads, removal
from ragmem.backends.lightrag.external.merge import rows
from ragmem.backends.lightrag.external.profile import Profile
from ragmem.backends.lightrag.external.records import TextKey, clean_record, group_by_project, wanted_texts
from ragmem.backends.lightrag.external.workspaces import Workspaces
from ragmem.backends.lightrag.rows import documents, names
from ragmem.backends.lightrag.rows import reads as graph_reads
from ragmem.backends.lightrag.rows.records import fingerprint as fingerprint_of
from ragmem.backends.lightrag.rows.views import PROCESSED
from ragmem.backends.lightrag.vectors import bulk
from ragmem.backends.question_vectors import QuestionCache, validate_query
from ragmem.backends.simple_store import StoreDefaults
from ragmem.domain.model import Entity, Hit, Record, Relation
from ragmem.ports import Mode, Models, NativeModes, VectorBlock
from ragmem.storage.maintenance.invariants import sentence
from ragmem.storage.memories.read_cache import ReadCache
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.database import Database

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragmem.backends.lightrag.engine import Instance
    from ragmem.backends.lightrag.external.postgres_vectors import VectorSearch

_Fields = dict[str, Any]


class ForeignStore(StoreDefaults):
    """Memories as LightRAG documents, each project a workspace, in storages without a common transaction.

    Three rules replace the transaction: (1) A document is first written as unfinished with the ids of its
    chunks, then its contents, and last its status with the fingerprint. `memory_ids` returns only complete
    documents, `search` only those whose put was committed; a put that finds an unfinished one removes it and
    starts again, and `sweep` removes them as well. (2) `finish` runs first, inside of the catalog's open
    transaction, then the storages are written, then the transaction commits. So a refused `finish` leaves the
    storages untouched; a process that is killed, or a server that goes away, leaves a catalog that says what
    it said before (pending), and the next put of that memory makes it good. A killed delete leaves an
    unfinished document, which counts as absent, and a catalog that still has the memory: gc puts it back.
    (3) Merging reads, changes and writes, so there is one writer at a time: whoever holds the catalog's write
    lock, a file lock with SQLite, an advisory lock of all machines with PostgreSQL.

    All vectors are of one model; with another, everything but `delete` raises BackendError until the store
    was emptied (`ragmem seed --rebuild` does that). LightRAG's coroutines run in the calling thread, one
    thread at a time; it must have no running event loop.
    """

    name = "lightrag"

    def __init__(
        self, profile: Profile, options: Mapping[str, object], models: Models, database: Database
    ) -> None:
        self._models = models
        self._database = database
        self._spaces = Workspaces(profile, options, models, database)
        self._registry = self._spaces.registry
        self._questions = QuestionCache()
        self._counted: tuple[VectorSearch, ReadCache[dict[str, int]]] | None = None

    @property
    def native(self) -> NativeModes:
        """The store itself: it has LightRAG's modes."""
        return self

    def prepare(self, records: Sequence[Record]) -> None:
        """Embed in advance for `put` of these records; may run in a thread while another put merges."""
        self._spaces.refuse_other_model()
        self._embed([clean_record(record) for record in records])

    def _embed(self, records: Sequence[Record]) -> None:
        """Embed chunks, and entities and relations that have no vector yet."""
        texts: set[str] = set()
        for project, group in group_by_project(records).items():
            wanted = wanted_texts(group)
            for instance in self._spaces.instances([project]).values():
                wanted = self._spaces.run(_without_vector, instance, wanted)
            texts.update(wanted.values())
        ahead = self._spaces.ahead
        missing = [text for text in texts if text not in ahead]
        if missing:
            vectors = self._models.embedder.embed(missing, role="document")
            ahead.update(zip(missing, vectors, strict=True))

    def put(self, records: Sequence[Record], *, finish: Callable[[], None] | None = None) -> None:
        """Index the records; unchanged records are skipped, half-written ones are written again.

        `finish` runs before the storages are written, and is committed after them. Raises BackendError when
        the embedder or a server fails; the catalog is then as it was, and the next put completes the work.
        """
        try:
            self._put(records, finish)
        except BaseException:
            self._spaces.forget_pending()
            raise
        finally:
            for group in group_by_project(map(clean_record, records)).values():
                self._spaces.forget_ahead(wanted_texts(group).values())

    def _put(self, records: Sequence[Record], finish: Callable[[], None] | None) -> None:
        self._registry.create()
        self._spaces.refuse_other_model()
        model = self._models.embedder.model_id
        wanted = {
            record.memory.id: (clean_record(record), fingerprint_of(record, model)) for record in records
        }
        changed = self._select_changed(wanted)
        self._spaces.open_new(group_by_project(record for record, _ in changed))
        self._embed([record for record, _ in changed])
        with self._database.write() as connection:
            if finish is not None:
                finish()
            # Read again: another process may have put the same records meanwhile.
            changed = self._select_changed(wanted)
            if changed:
                self._spaces.refuse_other_model()
                self._registry.pin(connection, self._spaces.configured_model())
                self._replace(changed)
                self._registry.place(
                    connection, {record.memory.id: record.memory.scope.project for record, _ in changed}
                )

    def _replace(self, changed: Sequence[tuple[Record, str]]) -> None:
        former = self._registry.places(record.memory.id for record, _ in changed)
        instances = self._spaces.instances(group_by_project(record for record, _ in changed))
        for project, instance in instances.items():
            group = [pair for pair in changed if pair[0].memory.scope.project == project]
            self._remove_elsewhere(former, project, [record.memory.id for record, _ in group])
            self._spaces.run(_write, instance, group)

    def _remove_elsewhere(self, former: Mapping[str, str], project: str, memory_ids: Sequence[str]) -> None:
        moved = [key for key in memory_ids if former.get(key, project) != project]
        for instance in self._spaces.instances({former[key] for key in moved}).values():
            self._spaces.run(removal.remove, instance, moved)

    def _select_changed(self, wanted: Mapping[str, tuple[Record, str]]) -> list[tuple[Record, str]]:
        places = self._registry.places(wanted)
        changed: list[tuple[Record, str]] = []
        for project, group in group_by_project(record for record, _ in wanted.values()).items():
            ids = [record.memory.id for record in group if places.get(record.memory.id) == project]
            stored: dict[str, dict[str, Any]] = {}
            for instance in self._spaces.instances([project] if ids else []).values():
                stored = self._spaces.run(rows, instance.rag.doc_status, ids)
            for record in group:
                row = stored.get(record.memory.id, {})
                fingerprint = wanted[record.memory.id][1]
                if row.get("status") != PROCESSED or row.get("content_hash") != fingerprint:
                    changed.append((record, fingerprint))
        return sorted(changed, key=lambda pair: pair[0].memory.event_time)

    def delete(self, memory_ids: Sequence[str], *, finish: Callable[[], None] | None = None) -> None:
        """Remove everything that only these memories brought in; unknown ids are ignored.

        `finish` runs before the storages are written, and is committed after them.
        """
        ids = list(dict.fromkeys(memory_ids))
        self._registry.create()
        self._spaces.instances_holding(ids)  # opened before the transaction, as in put
        try:
            with self._database.write() as connection:
                if finish is not None:
                    finish()
                places = self._registry.places(ids)
                for project, instance in self._spaces.instances_holding(ids).items():
                    here = [key for key in ids if places.get(key, project) == project]
                    self._spaces.run(removal.remove, instance, here)
                if places and not self._registry.unplace(connection, ids):
                    self._registry.pin(connection, None)
        except BaseException:
            self._spaces.forget_pending()
            raise

    def search(self, query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        """Return the nearest chunks, best first; raises BackendError where another model made the vectors."""
        if not query.strip() or limit < 1 or not self._registry.readable():
            return []
        with self._database.read():
            if not (known := self._known(projects)):
                return []
            embedder = self._spaces.refuse_other_model()
        vector = self._questions.embed(embedder, query)
        if search := self._spaces.vector_search(next(iter(known))):
            return _hits(search.nearest(list(known.values()), vector, limit))
        found: list[reads.Near] = []
        for project, instance in self._spaces.instances(projects).items():
            found += self._near(project, instance, vector, limit)
        found.sort(key=lambda one: (-one.score, one.chunk_id))
        return _hits(found[:limit])

    def _known(self, projects: Sequence[str] | None) -> dict[str, str]:
        """Return the workspaces of those of the projects (None: all) that have one."""
        known = self._registry.workspaces()
        return known if projects is None else {key: known[key] for key in projects if key in known}

    def _near(
        self, project: str, instance: "Instance", vector: "NDArray[np.float32]", limit: int
    ) -> list[reads.Near]:
        asked = limit
        while True:
            near = self._spaces.run(reads.nearest, instance, vector, asked)
            places = self._registry.places({one.memory_id for one in near})
            # Documents that another process is writing, or left unfinished, do not count yet.
            known = [one for one in near if places.get(one.memory_id) == project]
            if len(known) >= limit or len(near) < asked:
                return known
            asked += limit + asked - len(known)

    def similarities(
        self, query: str, chunk_ids: Sequence[str], *, projects: Sequence[str] | None = None
    ) -> Mapping[str, float]:
        """Return the cosines of these chunks with the query; chunks without a vector are absent."""
        if not query.strip() or not chunk_ids or not (known := self._known(projects)):
            return {}
        question = self._questions.vector(self._spaces.refuse_other_model(), query)
        if search := self._spaces.vector_search(next(iter(known))):
            ids = list(dict.fromkeys(chunk_ids))
            return {one.chunk_id: one.score for one in search.cosines(ids, question, projects)}
        found: dict[str, float] = {}
        for project, instance in self._spaces.instances(projects).items():
            near = [
                one
                for part in batches(dict.fromkeys(chunk_ids), reads.VECTORS)
                for one in self._spaces.run(reads.cosines, instance, part, question)
            ]
            places = self._registry.places({one.memory_id for one in near})
            found |= {one.chunk_id: one.score for one in near if places.get(one.memory_id) == project}
        return found

    def answering_model(self) -> str:
        """Return the id of the only model of the store."""
        return self._models.embedder.model_id

    def vector_blocks(
        self, project: str, *, memory_ids: Sequence[str] | None = None
    ) -> Iterator[VectorBlock]:
        """Yield the vectors of the chunks of complete documents of a project."""
        if not self._registry.workspaces():
            return
        self._spaces.refuse_other_model()
        for instance in self._spaces.instances([project]).values():
            owners = self._spaces.run(reads.chunk_owners, instance, memory_ids)
            places = self._registry.places(set(owners.values()))
            known = [chunk for chunk, memory in owners.items() if places.get(memory) == project]
            for part in batches(known, reads.VECTORS):
                vectors = self._spaces.run(reads.vectors, instance, part)
                if vectors:
                    yield VectorBlock(
                        list(vectors),
                        [owners[chunk] for chunk in vectors],
                        bulk.unit(np.asarray(list(vectors.values()), np.float32)),
                    )

    def nearest_to(self, vectors: "NDArray[np.float32]", *, limit: int, project: str) -> list[list[Hit]]:
        """Return the nearest chunks of a project for each vector, best first."""
        if limit > 0 and (known := self._known([project])):
            self._spaces.refuse_other_model()
            if search := self._spaces.vector_search(project):
                return [_hits(search.nearest(list(known.values()), vector, limit)) for vector in vectors]
            for instance in self._spaces.instances([project]).values():
                return [_hits(self._near(project, instance, vector, limit)[:limit]) for vector in vectors]
        return [[] for _ in vectors]

    def entities(
        self, prefix: str = "", *, limit: int = 50, project: str | None = None, described: bool = True
    ) -> list[tuple[Entity, int]]:
        """Return entities whose name starts with the prefix (any case) with their degree."""
        del described
        found = [
            self._spaces.run(reads.entities, instance, prefix, limit)
            for instance in self._spaces.instances(None if project is None else [project]).values()
        ]
        return graph_reads.merge_entities(found, limit)

    def neighbours(
        self, name: str, *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Relation, Entity]]:
        """Return the relations of an entity with the entity at the other end, heaviest first."""
        found: list[tuple[Relation, Entity]] = []
        for instance in self._spaces.instances(None if project is None else [project]).values():
            found += self._spaces.run(reads.neighbours, instance, name, limit)
        found.sort(key=lambda pair: (-pair[0].weight, pair[0].source, pair[0].target))
        return found[:limit]

    def subgraph(
        self, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
    ) -> Mapping[str, Any]:
        """Return LightRAG's graph document around a label ("*": the most connected).

        Of all projects, side by side, each id is then "project/name".
        """
        found: list[tuple[str, dict[str, Any]]] = []
        room = limit
        for one, instance in self._spaces.instances(None if project is None else [project]).items():
            graph = self._spaces.run(reads.subgraph, instance, label, depth=depth, limit=room)
            if project is not None:
                return graph
            found.append((one, graph))
            room -= len(graph["nodes"])
            if room < 1:
                found.append((one, {"nodes": [], "edges": [], "is_truncated": True}))
                break
        return graph_reads.merge_subgraphs(found)

    def mentions(
        self, chunk_ids: Sequence[str], *, project: str, most: int
    ) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Return chunk -> entity -> the chunks that name it, of entities that at most `most` chunks name."""
        instance = self._instance(project)
        return {} if instance is None else self._spaces.run(reads.mentions, instance, chunk_ids, most)

    def _instance(self, project: str) -> "Instance | None":
        """Return the opened LightRAG of a project, or None if it has no workspace."""
        return self._spaces.instances([project]).get(project)

    def nodes(self, project: str, *, described: bool = True) -> Iterator[tuple[Entity, int]]:
        """Yield every entity of a project with its degree, by name; reads all at once."""
        del described
        for instance in self._spaces.instances([project]).values():
            yield from self._spaces.run(reads.nodes, instance)

    def edges(self, project: str, *, described: bool = True) -> Iterator[Relation]:
        """Yield every relation of a project, by source and target; reads all at once."""
        del described
        for instance in self._spaces.instances([project]).values():
            yield from self._spaces.run(reads.edges, instance)

    def chunks_naming(self, names: Sequence[str], *, project: str, most: int) -> Mapping[str, Sequence[str]]:
        """Return entity -> the chunks that name it, those stored last first."""
        instance = self._instance(project)
        found = {} if instance is None else self._spaces.run(reads.chunks_naming, instance, names)
        return {name: chunks[:most] for name, chunks in found.items()}

    def chunks_relating(
        self, pairs: Sequence[tuple[str, str]], *, project: str, most: int
    ) -> Mapping[tuple[str, str], Sequence[str]]:
        """Return pair -> the chunks that relate these entities, those stored last first."""
        instance = self._instance(project)
        found = {} if instance is None else self._spaces.run(reads.chunks_relating, instance, pairs)
        return {pair: chunks[:most] for pair, chunks in found.items()}

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
        self._spaces.refuse_other_model()
        for instance in self._spaces.instances([project]).values():
            return self._spaces.run(
                native.ask, instance, query, mode, keywords=keywords, themes=themes, limit=limit
            )
        return {"status": "failure", "message": f'nothing was stored of "{project}"', "data": {}}

    def memory_ids(self) -> set[str]:
        """Return the ids of all memories that are complete in the store."""
        found: set[str] = set()
        for instance in self._spaces.instances().values():
            found.update(self._spaces.run(reads.documents, instance, complete=True))
        return found

    def statistics(self) -> Mapping[str, int]:
        """Return counts: documents, chunks, vectors, entities, relations, workspaces."""
        known = self._registry.workspaces()
        # Opened before the transaction of the cache, as in put.
        if known and (search := self._spaces.vector_search(next(iter(known)))):
            if self._counted is None or self._counted[0] is not search:
                counts = ReadCache(
                    self._database, lambda: search.counts(list(self._registry.workspaces().values()))
                )
                self._counted = search, counts
            return dict(self._counted[1].value())
        total = dict(reads.NO_COUNTS)
        for instance in self._spaces.instances().values():
            counted = self._spaces.run(reads.counts, instance)
            total = {name: total[name] + counted[name] for name in total}
        return total

    def sweep(self, *, dry_run: bool = False) -> Mapping[str, int]:
        """Remove the remains of interrupted puts and deletes; return the number of documents."""
        removed = 0
        if not self._registry.readable():
            return {"documents": 0}
        instances = self._spaces.instances()  # before the transaction, as in put
        with self._database.write():
            places = self._registry.places()
            for project, instance in instances.items():
                left = set(self._spaces.run(reads.documents, instance, complete=False))
                complete = self._spaces.run(reads.documents, instance, complete=True)
                left.update(key for key in complete if places.get(key) != project)
                removed += len(left)
                if left and not dry_run:
                    self._spaces.run(removal.remove, instance, sorted(left))
        return {"documents": removed}

    def check(self, *, deep: bool = False) -> list[str]:
        """Return the missing parts of complete documents; deep: reads the vectors as well."""
        return [
            sentence(rule, sorted(missing))
            for instance in self._spaces.instances().values()
            for rule, missing in self._spaces.run(foreign_check.violations, instance, deep=deep).items()
        ]

    def vector_models(self) -> Mapping[tuple[str, int], int]:
        """Return the number of vectors of the store's only model."""
        model = self._registry.model()
        return {} if model is None else {(model.id, model.dimensions): self.statistics()["vectors"]}

    def repair(self, *, whole: bool = False) -> Mapping[str, int]:
        """Remove incomplete documents (or all), and unfinished ones; return counts."""
        self._models.embedder.embed(["anyone there"], role="query")
        damaged = self.memory_ids() if whole else set()
        for instance in () if whole else self._spaces.instances().values():
            found = self._spaces.run(foreign_check.violations, instance, deep=True)
            for missing in found.values():
                damaged.update(*missing.values())
        self.delete(sorted(damaged))
        return {"memories": len(damaged), **self.sweep()}

    def close(self) -> None:
        """Close LightRAG; the database belongs to the caller. Closing twice is fine."""
        self._spaces.close()


def _hits(found: Sequence[reads.Near]) -> list[Hit]:
    return [
        Hit(chunk_id=one.chunk_id, memory_id=one.memory_id, rank=rank, score=one.score)
        for rank, one in enumerate(found, start=1)
    ]


async def _without_vector(instance: Instance, texts: Mapping[TextKey, str]) -> dict[TextKey, str]:
    """Return the texts of chunks, and of those entities and relations that have no vector yet."""
    stored: set[TextKey] = set()
    for namespace, index in (
        (names.ENTITIES, instance.rag.entities_vdb),
        (names.RELATIONSHIPS, instance.rag.relationships_vdb),
    ):
        found = await merge.rows(index, [key for space, key in texts if space == namespace])
        stored.update((namespace, key) for key in found)
    return {key: text for key, text in texts.items() if key not in stored}


async def _write(instance: Instance, group: Sequence[tuple[Record, str]]) -> None:
    """Write (record, fingerprint) after removing older versions, complete or half-written."""
    rag = instance.rag
    rows = documents.rows_of(group)
    await removal.remove(instance, list(rows.status))
    await rag.doc_status.upsert(
        {key: {**row, "status": documents.UNFINISHED, "content_hash": ""} for key, row in rows.status.items()}
    )
    await rag.full_docs.upsert(rows.full_docs)
    await rag.text_chunks.upsert(rows.chunks)
    await rag.llm_response_cache.upsert(rows.cached)
    await rag.full_entities.upsert(rows.entities)
    await rag.full_relations.upsert(rows.relations)
    await rag.chunks_vdb.upsert(rows.searchable)
    # A removal needs these rows, so they are written before the graph.
    await instance.flush()
    if any(nodes or edges for nodes, edges in rows.merges):
        texts = wanted_texts(record for record, _ in group)
        await merge.merge(
            instance,
            rows.merges,
            relation_texts={
                key: text for (space, key), text in texts.items() if space == names.RELATIONSHIPS
            },
        )
        await instance.flush()
    await rag.doc_status.upsert(rows.status)
