"""The store on any of LightRAG's own storages: its JSON files, PostgreSQL, or what a configuration names."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragmem.backends.lightrag.documents import PROCESSED
from ragmem.backends.lightrag.foreign_profile import Profile
from ragmem.backends.lightrag.foreign_records import placed, storable, wanted_texts
from ragmem.backends.lightrag.foreign_tables import Model, Registry
from ragmem.backends.lightrag.records import fingerprint as fingerprint_of
from ragmem.catalog.database import Database
from ragmem.catalog.invariants import sentence
from ragmem.domain.model import Entity, Hit, Record, Relation
from ragmem.errors import BackendError, UsageError
from ragmem.ports import Mode, Models

if TYPE_CHECKING:
    from ragmem.backends.lightrag.engine import Instance
    from ragmem.backends.lightrag.foreign_engine import ForeignEngine

SHORTEST_QUERY = 3
"""Characters that LightRAG's own retrieval needs at least."""

_Wanted = Mapping[str, tuple[Record, str]]


class ForeignStore:
    """Memories as LightRAG documents, each project a workspace, in storages without a common transaction.

    What makes up for the transaction: (1) A document is first written as unfinished with the ids of its
    chunks, then its contents, and last its status with the fingerprint. `memory_ids` knows only complete
    documents, `search` only those whose put was committed; a put that finds an unfinished one removes what is
    there and starts anew, and so does `sweep`. (2) `finish` runs first, inside of the catalog's open
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

    def __init__(
        self, profile: Profile, options: Mapping[str, object], models: Models, database: Database
    ) -> None:
        self._profile = profile
        self._options = options
        self._models = models
        self._database = database
        self._registry = Registry(database, profile.identity)
        self._opened: ForeignEngine | None = None
        self._opening = threading.Lock()

    @property
    def _engine(self) -> "ForeignEngine":
        with self._opening:
            if self._opened is None:
                from ragmem.backends.lightrag.foreign_engine import ForeignEngine

                self._opened = ForeignEngine(self._profile, self._models, self._options, self._database.home)
            return self._opened

    def _asked_model(self) -> Model:
        embedder = self._models.embedder
        return Model(embedder.model_id, embedder.dimensions)

    def _refuse_other_model(self) -> None:
        pinned = self._registry.model()
        asked = self._asked_model()
        if pinned is not None and pinned != asked:
            raise BackendError(
                f'the vectors in the store are of the model "{pinned.id}", not of "{asked.id}"',
                hint="run `ragmem seed --rebuild`, or set [models] back",
            )

    def _instance(self, workspace: str) -> "Instance":
        self._engine.use(self._registry.model() or self._asked_model())
        return self._engine.instance(workspace)

    def _instances(self, projects: Iterable[str] | None = None) -> dict[str, "Instance"]:
        """Return the opened LightRAG of each of these projects (None: all) that was ever written to."""
        known = self._registry.workspaces()
        chosen = known if projects is None else dict.fromkeys(projects)
        return {project: self._instance(known[project]) for project in chosen if project in known}

    def prepare(self, records: Sequence[Record]) -> None:
        """Embed what `put` of these records will need; it may run in a thread while another put merges."""
        self._refuse_other_model()
        self._embed([storable(record) for record in records])

    def _embed(self, records: Sequence[Record]) -> set[str]:
        """Embed chunks, and entities and relations that have no vector yet; return the texts."""
        from ragmem.backends.lightrag import foreign_writes

        texts: set[str] = set()
        for project, group in placed(records).items():
            wanted = wanted_texts(group)
            for instance in self._instances([project]).values():
                wanted = self._engine.run(foreign_writes.without_vector, instance, wanted)
            texts.update(wanted.values())
        ahead = self._engine.ahead
        missing = [text for text in texts if text not in ahead]
        if missing:
            vectors = self._models.embedder.embed(missing, role="document")
            ahead.update(zip(missing, vectors, strict=True))
        return texts

    def put(self, records: Sequence[Record], *, finish: Callable[[], None] | None = None) -> None:
        """Index the records; what is stored just so already is left alone, what is half-written is made anew.

        `finish` runs before the storages are written, and is committed after them. Raises BackendError when
        the embedder or a server fails; the catalog is then as it was, and the next put completes the work.
        """
        self._registry.create()
        self._refuse_other_model()
        model = self._models.embedder.model_id
        wanted = {record.memory.id: (storable(record), fingerprint_of(record, model)) for record in records}
        changed = self._changed(wanted)
        self._open_workspaces(placed(record for record, _ in changed))
        texts = self._embed([record for record, _ in changed])
        try:
            with self._database.write() as connection:
                if finish is not None:
                    finish()
                # Asked again: another process may have put the same ones meanwhile.
                changed = self._changed(wanted)
                if changed:
                    self._refuse_other_model()
                    self._registry.pin(connection, self._asked_model())
                    self._replace(changed)
                    self._registry.place(
                        connection, {record.memory.id: record.memory.scope.project for record, _ in changed}
                    )
        except BaseException:
            if self._opened is not None:
                self._opened.forget_pending()
            raise
        finally:
            for text in texts:
                self._engine.ahead.pop(text, None)

    def _open_workspaces(self, projects: Iterable[str]) -> None:
        """Open the workspaces of these projects, new ones too.

        Not inside of a transaction: for its tables LightRAG waits until all transactions of the server's
        database have ended.
        """
        known = self._registry.workspaces()
        new = [project for project in projects if project not in known]
        if new:
            with self._database.write() as connection:
                for project in new:
                    self._registry.add_workspace(connection, project)
        self._instances(projects)

    def _replace(self, changed: Sequence[tuple[Record, str]]) -> None:
        from ragmem.backends.lightrag import foreign_writes

        former = self._registry.places(record.memory.id for record, _ in changed)
        instances = self._instances(placed(record for record, _ in changed))
        for project, instance in instances.items():
            group = [pair for pair in changed if pair[0].memory.scope.project == project]
            self._remove_elsewhere(former, project, [record.memory.id for record, _ in group])
            self._engine.run(foreign_writes.write, instance, group)

    def _remove_elsewhere(self, former: Mapping[str, str], project: str, memory_ids: Sequence[str]) -> None:
        from ragmem.backends.lightrag import foreign_removal

        moved = [key for key in memory_ids if former.get(key, project) != project]
        for instance in self._instances({former[key] for key in moved}).values():
            self._engine.run(foreign_removal.remove, instance, moved)

    def _changed(self, wanted: _Wanted) -> list[tuple[Record, str]]:
        from ragmem.backends.lightrag.foreign_merge import rows

        places = self._registry.places(wanted)
        changed: list[tuple[Record, str]] = []
        for project, group in placed(record for record, _ in wanted.values()).items():
            ids = [record.memory.id for record in group if places.get(record.memory.id) == project]
            stored: dict[str, dict[str, Any]] = {}
            for instance in self._instances([project] if ids else []).values():
                stored = self._engine.run(rows, instance.rag.doc_status, ids)
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
        from ragmem.backends.lightrag import foreign_removal

        ids = list(dict.fromkeys(memory_ids))
        self._registry.create()
        self._holding(ids)  # opened before the transaction, as in put
        try:
            with self._database.write() as connection:
                if finish is not None:
                    finish()
                places = self._registry.places(ids)
                for project, instance in self._holding(ids).items():
                    here = [key for key in ids if places.get(key, project) == project]
                    self._engine.run(foreign_removal.remove, instance, here)
                if places and not self._registry.unplace(connection, ids):
                    self._registry.pin(connection, None)
        except BaseException:
            if self._opened is not None:
                self._opened.forget_pending()
            raise

    def _holding(self, memory_ids: Sequence[str]) -> dict[str, "Instance"]:
        """Return the opened LightRAG of each project that may hold some of these memories."""
        places = self._registry.places(memory_ids)
        # A put that was killed before its commit left a document whose place nobody knows.
        lost = len(places) < len(memory_ids)
        return self._instances(None if lost else set(places.values()))

    def search(self, query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        """Return the nearest chunks, best first; raises BackendError where another model made the vectors."""
        if not query.strip() or limit < 1 or not self._registry.workspaces():
            return []
        self._refuse_other_model()
        from ragmem.backends.lightrag import foreign_reads

        vector = np.asarray(self._models.embedder.embed([query], role="query")[0], np.float32)
        found: list[foreign_reads.Near] = []
        for project, instance in self._instances(projects).items():
            asked = limit
            while True:
                near = self._engine.run(foreign_reads.nearest, instance, vector, asked)
                places = self._registry.places({one.memory_id for one in near})
                # What another process is just writing, or left unfinished, is not there yet.
                known = [one for one in near if places.get(one.memory_id) == project]
                if len(known) >= limit or len(near) < asked:
                    break
                asked += limit + asked - len(known)
            found += known
        found.sort(key=lambda one: (-one.score, one.chunk_id))
        return [
            Hit(chunk_id=one.chunk_id, memory_id=one.memory_id, rank=rank, score=one.score)
            for rank, one in enumerate(found[:limit], start=1)
        ]

    def entities(
        self, prefix: str = "", *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Entity, int]]:
        """Return entities whose name starts with the prefix (any case) with their degree."""
        from ragmem.backends.lightrag import foreign_reads

        found = [
            self._engine.run(foreign_reads.entities, instance, prefix, limit)
            for instance in self._instances(None if project is None else [project]).values()
        ]
        return foreign_reads.merge_entities(found, limit)

    def neighbours(
        self, name: str, *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Relation, Entity]]:
        """Return the relations of an entity with the entity at the other end, heaviest first."""
        from ragmem.backends.lightrag import foreign_reads

        found: list[tuple[Relation, Entity]] = []
        for instance in self._instances(None if project is None else [project]).values():
            found += self._engine.run(foreign_reads.neighbours, instance, name, limit)
        found.sort(key=lambda pair: (-pair[0].weight, pair[0].source, pair[0].target))
        return found[:limit]

    def subgraph(
        self, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
    ) -> Mapping[str, Any]:
        """Return LightRAG's graph document around a label ("*": the most connected).

        Of all projects, side by side, each id is then "project/name".
        """
        from ragmem.backends.lightrag import foreign_reads

        found: list[tuple[str, dict[str, Any]]] = []
        room = limit
        for one, instance in self._instances(None if project is None else [project]).items():
            graph = self._engine.run(foreign_reads.subgraph, instance, label, depth=depth, limit=room)
            if project is not None:
                return graph
            found.append((one, graph))
            room -= len(graph["nodes"])
            if room < 1:
                found.append((one, {"nodes": [], "edges": [], "is_truncated": True}))
                break
        return foreign_reads.merge_subgraphs(found)

    def native_query(
        self, query: str, mode: Mode, *, keywords: Sequence[str], limit: int, project: str
    ) -> Mapping[str, Any]:
        """Return LightRAG's aquery_data document; raises UsageError for a query that is too short for it."""
        query = query.strip()
        if len(query) < SHORTEST_QUERY:
            raise UsageError(
                f'the query "{query}" is too short for the mode {mode}',
                hint=f"use at least {SHORTEST_QUERY} characters, or leave out the mode",
            )
        self._refuse_other_model()
        from ragmem.backends.lightrag import ingest

        for instance in self._instances([project]).values():
            return self._engine.run(ingest.ask, instance, query, mode, keywords=keywords, limit=limit)
        return {"status": "failure", "message": f'nothing was stored of "{project}"', "data": {}}

    def memory_ids(self) -> set[str]:
        """Return the ids of all memories that are complete in the store."""
        from ragmem.backends.lightrag import foreign_reads

        found: set[str] = set()
        for instance in self._instances().values():
            found.update(self._engine.run(foreign_reads.documents, instance, complete=True))
        return found

    def statistics(self) -> Mapping[str, int]:
        """Return counts: documents, chunks, vectors, entities, relations, workspaces."""
        from ragmem.backends.lightrag import foreign_reads

        total = dict(foreign_reads.NO_COUNTS)
        for instance in self._instances().values():
            counted = self._engine.run(foreign_reads.counts, instance)
            total = {name: total[name] + counted[name] for name in total}
        return total

    def sweep(self, *, dry_run: bool = False) -> Mapping[str, int]:
        """Remove what puts and deletes left that did not come to their end; return how many documents."""
        from ragmem.backends.lightrag import foreign_reads, foreign_removal

        removed = 0
        if not self._registry.readable():
            return {"documents": 0}
        instances = self._instances()  # before the transaction, as in put
        with self._database.write():
            places = self._registry.places()
            for project, instance in instances.items():
                left = set(self._engine.run(foreign_reads.documents, instance, complete=False))
                complete = self._engine.run(foreign_reads.documents, instance, complete=True)
                left.update(key for key in complete if places.get(key) != project)
                removed += len(left)
                if left and not dry_run:
                    self._engine.run(foreign_removal.remove, instance, sorted(left))
        return {"documents": removed}

    def check(self, *, deep: bool = False) -> list[str]:
        """Return what complete documents lack of what belongs to them; deep: reads the vectors as well."""
        from ragmem.backends.lightrag import foreign_check

        return [
            sentence(rule, sorted(missing))
            for instance in self._instances().values()
            for rule, missing in self._engine.run(foreign_check.violations, instance, deep=deep).items()
        ]

    def vector_models(self) -> Mapping[tuple[str, int], int]:
        """Return how many vectors there are of the one model that a store may have."""
        model = self._registry.model()
        return {} if model is None else {(model.id, model.dimensions): self.statistics()["vectors"]}

    def repair(self, *, whole: bool = False) -> Mapping[str, int]:
        """Take out the documents that lack something (or all), and unfinished ones; return counts."""
        from ragmem.backends.lightrag import foreign_check

        self._models.embedder.embed(["anyone there"], role="query")
        damaged = self.memory_ids() if whole else set()
        for instance in () if whole else self._instances().values():
            found = self._engine.run(foreign_check.violations, instance, deep=True)
            for missing in found.values():
                damaged.update(*missing.values())
        self.delete(sorted(damaged))
        return {"memories": len(damaged), **self.sweep()}

    def close(self) -> None:
        """Close LightRAG; the database belongs to the caller. Closing twice is fine."""
        if self._opened is not None:
            self._opened.close()
