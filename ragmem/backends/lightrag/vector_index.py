"""Nearest vectors over the rows of the database, with a memory-mapped copy once there are many."""

import hashlib
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag.schema import batches, marks
from ragmem.backends.lightrag.segments import EXACT_LIMIT, Row, Segment, empty, from_rows, join, scores
from ragmem.backends.lightrag.sidecar import Sidecar
from ragmem.catalog.database import Database
from ragmem.errors import BackendError

FOLDER = "vectors"

DEAD_SHARE = 0.2
"""Share of deleted rows in a sidecar from which `compact` writes it anew."""

_MAX_SEGMENTS = 8
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

    @property
    def last(self) -> int:
        return max(self.mapped.last, self.recent[-1].last if self.recent else 0)


class VectorIndex:
    """Search in the vectors of one home; safe to use from several threads."""

    def __init__(self, database: Database) -> None:
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
        if not segments:
            self._refuse_other_model(namespace, model)
            return []
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
            hits = self._alive([pair for pair in found if pair[0] >= minimum], workspaces)
            exhausted = len(found) < count or count >= total or found[-1][0] < minimum
            if len(hits) >= limit or exhausted:
                return hits[:limit]
            count = min(total, count * 4)

    def _alive(
        self, found: Sequence[tuple[float, int]], workspaces: Collection[str] | None
    ) -> list[VectorHit]:
        rows: dict[int, tuple[str, str, str, str, int]] = {}
        with self._database.read() as connection:
            for part in batches([str(seq) for _, seq in found]):
                for seq, *row in connection.execute(
                    f"SELECT seq, id, workspace, subject, object, created FROM store_vectors"
                    f" WHERE seq IN ({marks(part)})",
                    [int(seq) for seq in part],
                ):
                    rows[seq] = (row[0], row[1], row[2], row[3], row[4])
        return [
            VectorHit(seq, *rows[seq], score=score)
            for score, seq in found
            if seq in rows and (workspaces is None or rows[seq][1] in workspaces)
        ]

    def _refuse_other_model(self, namespace: str, model: str) -> None:
        with self._database.read() as connection:
            other = connection.execute(
                "SELECT model FROM store_vectors WHERE namespace = ? LIMIT 1", (namespace,)
            ).fetchone()
        if other is not None and other[0] != model:
            raise BackendError(
                f'the vectors were made by the model "{other[0]}", not by "{model}"',
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
            view = self._views[key] = _View(empty(dimensions), [])
        if len(view.mapped) or self._is_large(namespace, model):
            self._follow(view, sidecar, namespace, model)
        rows = self._fetch(namespace, model, view.last, -1)
        if rows:
            view.recent.append(from_rows(rows, dimensions))
            if len(view.recent) > _MAX_SEGMENTS:
                view.recent = [join(view.recent)]
        return view

    def _is_large(self, namespace: str, model: str) -> bool:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT 1 FROM store_vectors WHERE namespace = ? AND model = ? LIMIT 1 OFFSET ?",
                (namespace, model, EXACT_LIMIT),
            ).fetchone()
        return row is not None

    def _follow(self, view: _View, sidecar: Sidecar, namespace: str, model: str) -> None:
        """Bring files and view up to date; where the files cannot be written, use them as they are."""
        if len(view.mapped) and not self._fetch(namespace, model, view.last, 1):
            return
        try:
            if self._database.read_only:
                view.mapped = sidecar.load()
            else:
                view.mapped = sidecar.catch_up(partial(self._fetch, namespace, model))
        except OSError:
            view.mapped = sidecar.load()
        view.identity = sidecar.identity()
        view.recent = []

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
                    _remove_folder(path)
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


def _remove_folder(path: Path) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)
