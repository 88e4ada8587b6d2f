"""Search for the nearest vectors in the database, with the memory-mapped signs of many vectors."""

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag.rows import names, reads, vectors
from ragmem.backends.lightrag.vectors import maintenance
from ragmem.backends.lightrag.vectors.maintenance import Group
from ragmem.backends.lightrag.vectors.mmap_index import Sidecar
from ragmem.backends.lightrag.vectors.segments import (
    EXACT_LIMIT,
    OtherVectorsError,
    Segment,
    cosines,
    empty,
    from_rows,
    join,
    scores,
    scores_of,
)
from ragmem.errors import BackendError
from ragmem.storage.memories.read_cache import ReadCache
from ragmem.storage.sql.batches import batches, marks, padded
from ragmem.storage.sql.sqlite import SQLiteDatabase

APPEND_FROM = 256
"""Missing rows from which they are appended to the files. Each process reads fewer from the database in a
millisecond, while an append waits for the disk."""

_MAX_SEGMENTS = 8
_SAMPLE = 16
"""Rows that are compared with the database when the files are opened."""

_MIN_FETCH = 32
"""Fewest rows to score, so that a few deleted ones do not need a second scan."""

_TOLERANCE = 1e-3
"""How much the score of a row may differ between the files and the database, by rounding."""


_MOST_KNOWN = 50_000
"""Rows whose fields are kept: some 15 MB."""

_MOST_SEEN = 20_000
"""Chunks of which a thread keeps the rows: some 5 MB."""

_FOUND = (
    (
        "SELECT v.seq, v.id, v.workspace, v.subject, v.object, v.created, v.scale, v.vector"
        f" FROM {vectors.OF_NAMES} AS v WHERE +v.namespace = ? AND +v.model = ? AND length(v.vector) = ?"
    ),
    (
        f"SELECT v.seq, c.id, s.name, {vectors.SUBJECT}, '', {vectors.CREATED}, {vectors.SCALE}, v.vector"
        f" FROM {vectors.OF_CHUNKS} AS v {vectors.OWNERS}"
        f" WHERE ? = '{names.CHUNKS}' AND +v.model = {vectors.MODEL} AND length(v.vector) = ?"
    ),
)
"""Queries of rows of names and of chunks with all that a hit has."""

Row = tuple[str, str, str, str, int]
"""Id, workspace, subject, object and moment of a row."""


class VectorHit(NamedTuple):
    """A hit; `subject` and `object` as in the table, `score` is the cosine."""

    seq: int
    id: str
    workspace: str
    subject: str
    object: str
    created: int
    score: float


@dataclass(frozen=True, slots=True)
class _Query:
    query: NDArray[np.float32]
    limit: int
    workspaces: Collection[str] | None
    minimum: float


@dataclass(slots=True)
class _View:
    """The vectors of one group in this process: the mapped files, then rows read since.

    `known` are the rows whose vectors were compared with the database; a row never changes.
    """

    mapped: Segment
    recent: list[Segment]
    known: dict[int, Row] = field(default_factory=dict)
    identity: tuple[int, int] = (0, 0)
    writable: bool = True
    database: tuple[int, ...] = ()

    @property
    def last(self) -> int:
        return max(self.mapped.last, self.recent[-1].last if self.recent else 0)


@dataclass(slots=True)
class _ThreadCache:
    """What a thread has read since anything was written.

    `seqs` are rows that are there, by table, `chunks` has the rows of chunks, `views` those with all rows.
    """

    seqs: dict[str, set[int]] = field(default_factory=dict)
    chunks: dict[str, tuple[int, ...]] = field(default_factory=dict)
    views: dict[Group, _View] = field(default_factory=dict)


class VectorIndex:
    """Search in the vectors of one home; safe to use from several threads."""

    def __init__(self, database: SQLiteDatabase) -> None:
        self._database = database
        self._views: dict[Group, _View] = {}
        self._sidecars: dict[Group, Sidecar] = {}
        self._guard = threading.Lock()
        self._seen = ReadCache(database, _ThreadCache)

    def search(
        self,
        namespace: str,
        model: str,
        query: NDArray[np.float32],
        *,
        limit: int,
        workspaces: Collection[str] | None = None,
        minimum: float = -1.0,
    ) -> list[VectorHit]:
        """Return the nearest rows of this model, best first; equal scores in order of age.

        `query` has unit length. Raises BackendError if all vectors are of another model, or of this one with
        another number of dimensions.
        """
        if limit < 1 or (workspaces is not None and not workspaces):
            return []
        group = Group(namespace, model, len(query))
        wanted = _Query(query, limit, workspaces, minimum)
        hits = self._nearest(group, wanted)
        if hits is None:
            with self._guard:
                self._distrust(group)
            hits = self._nearest(group, wanted, checked=False) or []
        if not hits:
            self._refuse_other_model(group)
        return hits[:limit]

    def similarities(
        self,
        model: str,
        query: NDArray[np.float32],
        chunk_ids: Sequence[str],
        *,
        workspaces: Collection[str] | None = None,
    ) -> dict[str, float]:
        """Return chunk id -> cosine of those of the chunks that have a vector of this model."""
        if not chunk_ids:
            return {}
        ids = self._rows_of(chunk_ids)
        group = Group(names.CHUNKS, model, len(query))
        try:
            return self._similarities(group, query, ids, workspaces)
        except OtherVectorsError:
            with self._guard:
                self._distrust(group)
            return self._similarities(group, query, ids, workspaces)

    def _rows_of(self, chunk_ids: Sequence[str]) -> dict[int, str]:
        """Return sequence number -> chunk of the rows of these chunks, of any model."""
        with self._database.read() as connection:
            known = self._seen.value().chunks
            if len(known) > _MOST_SEEN:
                known.clear()
            if unknown := [chunk for chunk in chunk_ids if chunk not in known]:
                known.update(dict.fromkeys(unknown, ()))
                for seq, chunk in reads.vectors_of_chunks(connection, unknown).items():
                    known[chunk] = (*known[chunk], seq)
        return {seq: chunk for chunk in chunk_ids for seq in known[chunk]}

    def _similarities(
        self,
        group: Group,
        query: NDArray[np.float32],
        ids: Mapping[int, str],
        workspaces: Collection[str] | None,
    ) -> dict[str, float]:
        seqs = np.fromiter(ids, np.int64, len(ids))
        # After the ids: the view includes later puts, and still has deleted rows.
        with self._guard:
            view = self._view(group, until=int(seqs.max(initial=0)))
            segments = [segment for segment in (view.mapped, *view.recent) if len(segment)]
        return {
            ids[seq]: score
            for segment in segments
            for seq, score in scores_of(segment, query, seqs, workspaces=workspaces).items()
        }

    def warm(self, namespace: str, model: str) -> None:
        """Write the files of a new model, so that the first question need not."""
        with self._database.read() as connection:
            row = connection.execute(
                f"SELECT length(v.vector) FROM {vectors.of_model(namespace)} LIMIT 1",
                (namespace, model),
            ).fetchone()
        if row is not None:
            with self._guard:
                self._view(Group(namespace, model, *row))

    def _nearest(self, group: Group, wanted: _Query, *, checked: bool = True) -> list[VectorHit] | None:
        """Return at least the wanted number of hits, if there are so many; None if the files are wrong."""
        with self._guard:
            view = self._view(group)
            segments = [segment for segment in (view.mapped, *view.recent) if len(segment)]
        total = sum(map(len, segments))
        count = max(wanted.limit + wanted.limit // 4, _MIN_FETCH)
        while True:
            try:
                found = [
                    pair
                    for segment in segments
                    for pair in scores(segment, wanted.query, count=count, workspaces=wanted.workspaces)
                ]
            except OtherVectorsError:
                return None
            if len(segments) > 1:
                # Rounded, as in `scores`: of equal vectors the oldest comes first.
                found = sorted(found, key=lambda pair: (-round(pair[0], 6), pair[1]))[:count]
            hits: list[VectorHit] = []
            near_enough = found
            if found and found[-1][0] < wanted.minimum:
                near_enough = [pair for pair in found if pair[0] >= wanted.minimum]
            # The reserve is read only where rows before it are gone.
            for part in batches(near_enough, wanted.limit):
                near = {seq: score for score, seq in part}
                there = self._look_up(view.known, group, wanted.query, near, checked=checked)
                if there is None:
                    return None
                if wanted.workspaces is not None:
                    there = [hit for hit in there if hit.workspace in wanted.workspaces]
                hits += there
                if len(hits) >= wanted.limit:
                    break
            exhausted = len(found) < count or count >= total or found[-1][0] < wanted.minimum
            if len(hits) >= wanted.limit or exhausted:
                return hits
            count = min(total, count * 4)

    def _distrust(self, group: Group) -> None:
        """Drop the view and the files of a group, which contradict the database."""
        self._views.pop(group, None)
        if self._database.read_only:
            self._views[group] = _View(empty(group.dimensions), [], writable=False)
        else:
            group.sidecar(self._database).remove()

    def _look_up(
        self,
        known: dict[int, Row],
        group: Group,
        query: NDArray[np.float32],
        near: Mapping[int, float],
        *,
        checked: bool,
    ) -> list[VectorHit] | None:
        """Return the rows that still exist, in order; None if the database has another vector of one."""
        rows: dict[int, Row] = {}
        scales: list[float] = []
        codes: list[bytes] = []
        with self._database.read() as connection:
            seen = self._seen.value().seqs.setdefault(vectors.table_of(group.namespace), set())
            for part in map(padded, batches([seq for seq in near if seq not in known])):
                for seq, key, workspace, subject, other, created, scale, vector in connection.execute(
                    f"{_FOUND[group.namespace == names.CHUNKS]} AND v.seq IN ({marks(part)})",
                    (group.namespace, group.model, group.dimensions, *part),
                ):
                    rows[seq] = (key, workspace, subject, other, created)
                    scales.append(scale)
                    codes.append(vector)
            for part in map(padded, batches([seq for seq in near if seq in known and seq not in seen])):
                seen.update(
                    seq
                    for (seq,) in connection.execute(
                        f"SELECT seq FROM {vectors.table_of(group.namespace)} WHERE seq IN ({marks(part)})",
                        part,
                    )
                )
        if rows:
            exact = cosines(scales, codes, query).tolist()
            if checked and not all(
                abs(score - near[seq]) <= _TOLERANCE for seq, score in zip(rows, exact, strict=True)
            ):
                return None
            seen.update(rows)
        found = []
        for seq, score in near.items():
            row = rows.get(seq) or (known.get(seq) if seq in seen else None)
            if row is not None:
                found.append((seq, *row, score))
        # The number of an uncommitted row may become that of another one.
        if rows and not self._database.is_writing:
            if len(known) > _MOST_KNOWN:
                known.clear()
            known.update(rows)
        # A named tuple's own constructor is a Python function, and takes three times as long.
        return list(map(partial(tuple.__new__, VectorHit), found))

    def _refuse_other_model(self, group: Group) -> None:
        namespace, model = group.namespace, group.model
        with self._database.read() as connection:
            reads.refuse_other_length(connection, namespace, model, group.dimensions)
            known = vectors.models(connection, namespace)
        if known and model not in known:
            raise BackendError(
                f'the vectors were made by the model "{known[0]}", not by "{model}"',
                hint="run `ragmem models use` or `ragmem seed --rebuild`, or restore the former model",
            )

    def _view(self, group: Group, *, until: int | None = None) -> _View:
        """Return a view with all rows that this connection sees, or with those up to a sequence number."""
        sidecar, view = self._sidecar(group), self._views.get(group)
        database = self._database.identity
        # In a restored database, known numbers may have other vectors.
        known = view is not None and view.database in (database, ())
        if view is not None and known and until is not None and until <= view.last:
            return view
        if view is None or not known or (len(view.mapped) and sidecar.identity() != view.identity):
            view = self._views[group] = self._open(sidecar, group)
        view.database = database
        seen = self._seen.value().views
        if seen.get(group) is view or (until is not None and until <= view.last):
            return view
        if self._database.is_writing:
            # Uncommitted rows must reach neither the view nor the files.
            rows = maintenance.fetch(self._database, group, view.last, -1)
            return _View(view.mapped, [*view.recent, from_rows(rows, group.dimensions)], view.known)
        rows = maintenance.fetch(self._database, group, view.last, APPEND_FROM)
        if view.writable and sum(map(len, view.recent)) + len(rows) >= APPEND_FROM:
            if len(view.mapped) or self._is_large(group):
                self._write_files(view, sidecar, group)
            rows = maintenance.fetch(self._database, group, view.last, -1)
        elif len(rows) == APPEND_FROM:
            rows = maintenance.fetch(self._database, group, view.last, -1)
        if rows:
            view.recent.append(from_rows(rows, group.dimensions))
            if len(view.recent) > _MAX_SEGMENTS:
                view.recent = [join(view.recent)]
        seen[group] = view
        return view

    def _sidecar(self, group: Group) -> Sidecar:
        if group not in self._sidecars:
            self._sidecars[group] = group.sidecar(self._database)
        return self._sidecars[group]

    def _open(self, sidecar: Sidecar, group: Group) -> _View:
        """Return a view of the existing files.

        After a restored backup of the database they may hold other vectors under the same numbers, which the
        newest rows reveal. Then, and if rows are missing, they are deleted.
        """
        mapped = sidecar.load()
        if len(mapped):
            with self._database.read() as connection:
                newest = connection.execute(
                    f"{maintenance.rows_of(group.namespace)} AND v.seq <= ? ORDER BY v.seq DESC LIMIT ?",
                    (group.namespace, group.model, group.dimensions, mapped.last, _SAMPLE),
                ).fetchall()
            if not mapped.agrees(newest):
                if not self._database.read_only:
                    sidecar.remove()
                mapped = empty(sidecar.dimensions)
        return _View(mapped, [], {}, sidecar.identity())

    def _write_files(self, view: _View, sidecar: Sidecar, group: Group) -> None:
        if self._database.read_only:
            view.writable = False
            return
        try:
            # With files, there is no need to wait while another process appends: new rows stay in memory.
            mapped = sidecar.catch_up(
                partial(maintenance.fetch, self._database, group), wait=not len(view.mapped)
            )
        except BlockingIOError:
            return
        except OSError:
            # The disk is full or the path is blocked: this process uses memory from now on.
            view.writable = False
            return
        view.mapped, view.recent, view.known, view.identity = mapped, [], {}, sidecar.identity()
        for former in group.former(self._database):
            if former.folder.exists():
                former.remove()

    def _is_large(self, group: Group) -> bool:
        with self._database.read() as connection:
            row = connection.execute(
                f"SELECT 1 FROM {vectors.of_model(group.namespace)} LIMIT 1 OFFSET ?",
                (group.namespace, group.model, EXACT_LIMIT),
            ).fetchone()
        return row is not None

    def compact(self, *, dry_run: bool) -> int:
        """Rewrite files with many deleted rows, delete those of former models; return the number of rows."""
        return maintenance.compact(self._database, dry_run=dry_run)

    def check(self) -> list[tuple[str, str]]:
        """Compare every sidecar with the database, row by row; return (namespace, problem) for each fault.

        A missing or outdated sidecar is not a fault: searches read the rest from the database.
        """
        return maintenance.check(self._database)

    def rebuild(self) -> int:
        """Rebuild all sidecars, delete unneeded ones; return the number of rows written.

        Raises StorageError if the home is not writable.
        """
        return maintenance.rebuild(self._database)
