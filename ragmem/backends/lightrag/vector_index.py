"""Nearest vectors over the rows of the database, with a memory-mapped copy once there are many."""

import hashlib
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag.segments import (
    EXACT_LIMIT,
    Row,
    Segment,
    empty,
    from_rows,
    join,
    restore,
    scores,
)
from ragmem.backends.lightrag.sidecar import Sidecar
from ragmem.catalog.batches import PARAMETERS, marks
from ragmem.catalog.sqlite import SQLiteDatabase
from ragmem.errors import BackendError

FOLDER = "vectors"

DEAD_SHARE = 0.2
"""Share of deleted rows in a sidecar from which `compact` writes it anew."""

APPEND_FROM = 256
"""Missing rows from which they are appended to the files. Fewer are read from the database by each process:
a millisecond, where an append waits for the disk."""

_MAX_SEGMENTS = 8
_SAMPLE = 16
"""Rows by which the files are held against the database when they are opened."""

_MIN_FETCH = 32
"""Rows that are scored at least, so that a few deleted ones among them do not need a second scan."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A row that was found; `subject` and `object` as in the table, `score` is the cosine."""

    seq: int
    id: str
    workspace: str
    subject: str
    object: str
    created: int
    score: float


@dataclass(slots=True)
class _View:
    """What this process has in memory of one namespace: the mapped files, then rows read since."""

    mapped: Segment
    recent: list[Segment]
    identity: tuple[int, int] = (0, 0)
    writable: bool = True

    @property
    def last(self) -> int:
        return max(self.mapped.last, self.recent[-1].last if self.recent else 0)


class VectorIndex:
    """Search in the vectors of one home; safe to use from several threads."""

    def __init__(self, database: SQLiteDatabase) -> None:
        self._database = database
        self._views: dict[tuple[str, str, int], _View] = {}
        self._guard = threading.Lock()

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

        `query` has unit length. Raises BackendError where all vectors come from another model.
        """
        if limit < 1 or (workspaces is not None and not workspaces):
            return []
        with self._guard:
            view = self._view(namespace, model, len(query))
            segments = [segment for segment in (view.mapped, *view.recent) if len(segment)]
        total = sum(map(len, segments))
        count = max(limit + limit // 4, _MIN_FETCH)
        while True:
            found = sorted(
                (
                    pair
                    for segment in segments
                    for pair in scores(segment, query, count=count, workspaces=workspaces)
                ),
                key=lambda pair: (-pair[0], pair[1]),
            )[:count]
            hits = self._look_up(namespace, model, query, [seq for score, seq in found if score >= minimum])
            hits = [hit for hit in hits if workspaces is None or hit.workspace in workspaces]
            exhausted = len(found) < count or count >= total or found[-1][0] < minimum
            if len(hits) >= limit or exhausted:
                break
            count = min(total, count * 4)
        if not hits:
            self._refuse_other_model(namespace, model)
        return sorted(hits, key=lambda hit: (-hit.score, hit.seq))[:limit]

    def _look_up(
        self, namespace: str, model: str, query: NDArray[np.float32], seqs: Sequence[int]
    ) -> list[VectorHit]:
        """Return those rows that still exist, scored by the vector in the database."""
        hits: list[VectorHit] = []
        with self._database.read() as connection:
            for start in range(0, len(seqs), PARAMETERS):
                part = seqs[start : start + PARAMETERS]
                for seq, key, workspace, subject, other, created, scale, codes in connection.execute(
                    "SELECT seq, id, workspace, subject, object, created, scale, vector"
                    f" FROM store_vectors WHERE seq IN ({marks(part)}) AND +namespace = ? AND +model = ?",
                    (*part, namespace, model),
                ):
                    score = float(restore(scale, codes) @ query)
                    hits.append(VectorHit(seq, key, workspace, subject, other, created, score))
        return hits

    def _refuse_other_model(self, namespace: str, model: str) -> None:
        with self._database.read() as connection:
            models = [
                name
                for (name,) in connection.execute(
                    "SELECT DISTINCT model FROM store_vectors WHERE namespace = ?", (namespace,)
                )
            ]
        if models and model not in models:
            raise BackendError(
                f'the vectors were made by the model "{models[0]}", not by "{model}"',
                hint="run `ragmem seed --rebuild`, or set the former model in config.toml",
            )

    def _sidecar(self, namespace: str, model: str, dimensions: int) -> Sidecar:
        return Sidecar(self._database.home / FOLDER / folder_name(namespace, model, dimensions), dimensions)

    def _fetch(self, namespace: str, model: str, last: int, limit: int) -> list[Row]:
        with self._database.read() as connection:
            return connection.execute(
                "SELECT seq, workspace, scale, vector FROM store_vectors NOT INDEXED"
                " WHERE seq > ? AND namespace = ? AND model = ? ORDER BY seq LIMIT ?",
                (last, namespace, model, limit),
            ).fetchall()

    def _view(self, namespace: str, model: str, dimensions: int) -> _View:
        """Return the view with all rows that this connection sees."""
        key = (namespace, model, dimensions)
        if self._database.connection().in_transaction:
            # Rows of a transaction may be rolled back: they must reach neither the view nor the files.
            rows = self._fetch(namespace, model, 0, -1)
            return _View(empty(dimensions), [from_rows(rows, dimensions)])
        view = self._views.get(key)
        sidecar = self._sidecar(namespace, model, dimensions)
        if view is None or (len(view.mapped) and sidecar.identity() != view.identity):
            view = self._views[key] = self._open(sidecar, namespace, model)
        rows = self._fetch(namespace, model, view.last, APPEND_FROM)
        if view.writable and sum(map(len, view.recent)) + len(rows) >= APPEND_FROM:
            if len(view.mapped) or self._is_large(namespace, model):
                self._write_files(view, sidecar, namespace, model)
            rows = self._fetch(namespace, model, view.last, -1)
        elif len(rows) == APPEND_FROM:
            rows = self._fetch(namespace, model, view.last, -1)
        if rows:
            view.recent.append(from_rows(rows, dimensions))
            if len(view.recent) > _MAX_SEGMENTS:
                view.recent = [join(view.recent)]
        return view

    def _open(self, sidecar: Sidecar, namespace: str, model: str) -> _View:
        """Return a view of the files as they are.

        Where a backup of the database was put back, they hold other vectors under the same numbers, and the
        newest rows tell. Then, and where rows are missing, they are dropped.
        """
        mapped = sidecar.load()
        if len(mapped):
            with self._database.read() as connection:
                newest = connection.execute(
                    "SELECT seq, workspace, scale, vector FROM store_vectors NOT INDEXED"
                    " WHERE seq <= ? AND namespace = ? AND model = ? ORDER BY seq DESC LIMIT ?",
                    (mapped.last, namespace, model, _SAMPLE),
                ).fetchall()
            if not mapped.agrees(newest):
                if not self._database.read_only:
                    sidecar.remove()
                mapped = empty(sidecar.dimensions)
        return _View(mapped, [], sidecar.identity())

    def _write_files(self, view: _View, sidecar: Sidecar, namespace: str, model: str) -> None:
        if self._database.read_only:
            view.writable = False
            return
        try:
            mapped = sidecar.catch_up(partial(self._fetch, namespace, model))
        except OSError:
            # Full disk, or something in the way: memory has to do for the rest of this process.
            view.writable = False
            return
        view.mapped, view.recent, view.identity = mapped, [], sidecar.identity()

    def _is_large(self, namespace: str, model: str) -> bool:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT 1 FROM store_vectors WHERE namespace = ? AND model = ? LIMIT 1 OFFSET ?",
                (namespace, model, EXACT_LIMIT),
            ).fetchone()
        return row is not None

    def compact(self, *, dry_run: bool) -> int:
        """Rewrite files with many deleted rows, drop those of former models; return how many rows."""
        folder: Path = self._database.home / FOLDER
        removed = 0
        if self._database.read_only or not folder.is_dir():
            return 0
        with self._database.read() as connection:
            current = {
                folder_name(namespace, model, length): (namespace, model, length)
                for namespace, model, length in connection.execute(
                    "SELECT namespace, model, max(length(vector)) FROM store_vectors"
                    " GROUP BY namespace, model"
                )
            }
        for path in sorted(entry for entry in folder.iterdir() if entry.is_dir()):
            if path.name not in current:
                removed += _records_in(path)
                if not dry_run:
                    Sidecar(path, 1).remove()
                continue
            namespace, model, dimensions = current[path.name]
            sidecar = Sidecar(path, dimensions)
            stored = sidecar.load().seqs
            with self._database.read() as connection:
                alive = np.fromiter(
                    (
                        seq
                        for (seq,) in connection.execute(
                            "SELECT seq FROM store_vectors WHERE namespace = ? AND model = ?",
                            (namespace, model),
                        )
                    ),
                    np.int64,
                )
            dead = len(stored) - int(np.isin(stored, alive).sum())
            if dead <= DEAD_SHARE * len(stored):
                continue
            removed += dead
            if not dry_run:
                sidecar.rebuild(partial(self._fetch, namespace, model))
        return removed


def folder_name(namespace: str, model: str, dimensions: int) -> str:
    """Return the name of the sidecar's folder; models with different ids never share one."""
    token = hashlib.blake2b(f"{model}\x1f{dimensions}".encode(), digest_size=8).hexdigest()
    return f"{namespace}-{token}"


def _records_in(path: Path) -> int:
    try:
        return (path / "records").stat().st_size // 24
    except OSError:
        return 0
