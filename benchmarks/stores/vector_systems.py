"""Ways to search among many vectors: ragmem's index, plain scans with numpy, LightRAG's default."""

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag.rows import schema
from ragmem.backends.lightrag.rows import vectors as rows
from ragmem.backends.lightrag.vectors.segments import quantise
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.storage.sql.sqlite import SQLiteDatabase

MODEL = "benchmark"
NAMESPACE = "chunks"
ADDED_TO = "others"
"""The project that new vectors belong to."""

Vectors = NDArray[np.float32]

_TRANSACTION = 50_000


class System(Protocol):
    """Vectors in a folder; a row is known by its number."""

    def build(self, vectors: Vectors, projects: Sequence[str]) -> None:
        """Write what a search needs."""
        ...

    def search(self, query: Vectors, count: int, project: str | None) -> list[int]:
        """Return the nearest rows, those included that another process has added."""
        ...

    def add(self, vector: Vectors, number: int) -> None:
        """Add one row that outlives a power cut."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


def _row(project: str, number: int, vector: NDArray[np.float32]) -> rows.Row:
    return project, NAMESPACE, str(number), "", "", MODEL, *quantise(vector), 0


class Ours:
    """ragmem's index: rows in SQLite, and the files that are derived from them."""

    def __init__(self, folder: Path) -> None:
        self._database = SQLiteDatabase(folder / "home")
        self._index = VectorIndex(self._database)

    def store(self, vectors: Vectors, projects: Sequence[str]) -> None:
        """Write the rows of the database, which ragmem has before any search."""
        schema.create(self._database)
        for start in range(0, len(vectors), _TRANSACTION):
            with self._database.write() as connection:
                rows.insert(
                    connection,
                    (
                        _row(projects[number], number, vectors[number])
                        for number in range(start, min(len(vectors), start + _TRANSACTION))
                    ),
                )

    def build(self, vectors: Vectors, projects: Sequence[str]) -> None:
        """Write the files anew from the rows."""
        del vectors, projects
        self._index.rebuild()

    def search(self, query: Vectors, count: int, project: str | None) -> list[int]:
        """Ask the index."""
        workspaces = None if project is None else [project]
        hits = self._index.search(NAMESPACE, MODEL, query, limit=count, workspaces=workspaces)
        return [int(hit.id) for hit in hits]

    def add(self, vector: Vectors, number: int) -> None:
        """Commit one row."""
        with self._database.write() as connection:
            rows.insert(connection, [_row(ADDED_TO, number, vector)])

    def close(self) -> None:
        """Close the database."""
        self._database.close()


class Scan:
    """Every vector is compared, in a mapped file; a list of the rows of each project serves the filter."""

    dtype: type[np.generic] = np.float32

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._size = -1
        self._projects = np.empty(0, "U16")
        self._rows: Any = np.empty((0, 0), self.dtype)

    def build(self, vectors: Vectors, projects: Sequence[str]) -> None:
        """Write all vectors behind each other."""
        (self._folder / "width").write_text(str(vectors.shape[1]))
        with (self._folder / "rows").open("wb") as file:
            for start in range(0, len(vectors), _TRANSACTION):
                self._write(file, vectors[start : start + _TRANSACTION])
            file.flush()
            os.fsync(file.fileno())
        np.array(projects, "U16").tofile(self._folder / "projects")

    def _write(self, file: Any, vectors: Vectors) -> None:
        file.write(vectors.tobytes())

    def _open(self) -> None:
        size = (self._folder / "rows").stat().st_size
        if size == self._size:
            return
        self._size = size
        width = int((self._folder / "width").read_text())
        count = size // (width * np.dtype(self.dtype).itemsize)
        self._rows = np.memmap(self._folder / "rows", self.dtype, "r", shape=(count, width))
        known = np.fromfile(self._folder / "projects", "U16")
        self._projects = np.concatenate([known, np.full(count - len(known), ADDED_TO, "U16")])

    def search(self, query: Vectors, count: int, project: str | None) -> list[int]:
        """Compare all, or the rows of the project."""
        self._open()
        if project is None:
            return _best(self._scores(slice(0, len(self._rows)), query), count).tolist()
        rows = np.flatnonzero(self._projects == project)
        return rows[_best(self._scores(rows, query), count)].tolist()

    def _scores(self, rows: Any, query: Vectors) -> Vectors:
        return np.asarray(self._rows[rows] @ query)

    def add(self, vector: Vectors, number: int) -> None:
        """Append to the file."""
        del number
        with (self._folder / "rows").open("ab") as file:
            self._write(file, vector[None])
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        """Forget the mapped file."""
        self._rows = None


class ByteScan(Scan):
    """The same with a byte for each value, and a scale for each vector in a file of its own."""

    dtype = np.int8

    def _write(self, file: Any, vectors: Vectors) -> None:
        scales = (np.abs(vectors).max(axis=1) / 127).astype(np.float32)
        with (self._folder / "scales").open("ab") as other:
            other.write(scales.tobytes())
        file.write(np.rint(vectors / scales[:, None]).astype(np.int8).tobytes())

    def _open(self) -> None:
        before = self._size
        super()._open()
        if self._size != before:
            self._scales = np.fromfile(self._folder / "scales", np.float32)

    def _scores(self, rows: Any, query: Vectors) -> Vectors:
        codes, scales = self._rows[rows], self._scales[rows]
        found = np.empty(len(codes), np.float32)
        for start in range(0, len(codes), 8192):
            found[start : start + 8192] = codes[start : start + 8192].astype(np.float32) @ query
        return found * scales


def _best(scores: Vectors, count: int) -> NDArray[np.intp]:
    kept = np.argpartition(-scores, min(count, len(scores)) - 1)[:count]
    return kept[np.argsort(-scores[kept])]


class Nano:
    """NanoVectorDB as LightRAG's default storage uses it: all in memory, written whole after each change."""

    def __init__(self, folder: Path) -> None:
        # LightRAG installs it where it is missing.
        from nano_vectordb import NanoVectorDB

        logging.getLogger("nano-vectordb").setLevel(logging.WARNING)
        self._make = NanoVectorDB
        self._file = folder / "vdb_chunks.json"
        self._read_at = -1
        self._database: Any = None

    def _open(self) -> None:
        changed = self._file.stat().st_mtime_ns if self._file.exists() else 0
        if changed != self._read_at:
            width = json.loads(self._file.with_suffix(".width").read_text())
            self._database, self._read_at = self._make(width, storage_file=str(self._file)), changed

    def build(self, vectors: Vectors, projects: Sequence[str]) -> None:
        """Add all at once, and save."""
        self._file.with_suffix(".width").write_text(str(vectors.shape[1]))
        self._open()
        self._database.upsert(
            [
                {"__id__": str(number), "project": projects[number], "__vector__": vectors[number]}
                for number in range(len(vectors))
            ]
        )
        self._database.save()

    def search(self, query: Vectors, count: int, project: str | None) -> list[int]:
        """Ask it; the filter is a function of a row."""
        self._open()
        wanted = None if project is None else (lambda row: row["project"] == project)
        return [int(row["__id__"]) for row in self._database.query(query, count, filter_lambda=wanted)]

    def add(self, vector: Vectors, number: int) -> None:
        """Add one, and save all."""
        self._open()
        self._database.upsert([{"__id__": str(number), "project": ADDED_TO, "__vector__": vector}])
        self._database.save()

    def close(self) -> None:
        """Forget it."""
        self._database = None


SYSTEMS: dict[str, type[Ours] | type[Scan] | type[Nano]] = {
    "ours": Ours,
    "float32": Scan,
    "int8": ByteScan,
    "default": Nano,
}
