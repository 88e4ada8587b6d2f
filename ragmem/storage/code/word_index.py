"""The words of a project's code in memory: which chunks and definitions have a term.

Each file has its own row, so that a change replaces the rows of the changed files alone. What was read for a
question is kept until another run writes.
"""

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.code.words import HEADER, words_of_path
from ragmem.errors import StoreDamagedError
from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import table_exists

Array = NDArray[Any]

MOST_KEPT = 2
"""Projects of former questions whose words are kept; a project of 1,000 files takes about 5 MB."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Terms in ascending order, and where each occurs how often."""

    terms: Array
    places: Array
    frequencies: Array

    def of(self, term: int) -> tuple[Array, Array]:
        """Return the places that have a term, and its frequency in each."""
        start, end = np.searchsorted(self.terms, [term, term + 1])
        return self.places[start:end], self.frequencies[start:end]


@dataclass(frozen=True, slots=True)
class WordIndex:
    """The files of a project with their chunks and definitions, each kind in the order of the files.

    `first_chunk` has one entry more than there are files. `names`, `letters` and `folders` map the words of
    paths to the files; `name_words` counts the parts of each file's name.
    """

    paths: tuple[str, ...]
    lines: Array
    depths: Array
    first_chunk: Array
    chunk_file: Array
    chunk_first: Array
    chunk_last: Array
    chunk_words: Array
    chunks: Postings
    definition_file: Array
    definition_line: Array
    definition_words: Array
    definitions: Postings
    names: Mapping[str, Array]
    letters: Mapping[str, Array]
    folders: Mapping[str, Array]
    name_words: Array


_held: "weakref.WeakKeyDictionary[Database, dict[str, tuple[str, WordIndex]]]" = weakref.WeakKeyDictionary()
_guard = threading.Lock()


def word_index(database: Database, project: str) -> WordIndex | None:
    """Return the words of a project's code; None where none are stored.

    Raises StoreDamagedError for a row that differs from what was written.
    """
    with database.read() as connection:
        if not table_exists(database, connection, "code_words"):
            return None
        row = connection.execute("SELECT n, run FROM code_roots WHERE project = ?", (project,)).fetchone()
        if row is None:
            return None
        number, run = row
        held = _held.setdefault(database, {})
        if (kept := held.get(project)) is not None and kept[0] == run:
            return kept[1]
        rows = connection.execute(
            "SELECT f.path, w.data FROM code_files f JOIN code_words w ON w.file = f.n WHERE f.root = ?"
            " ORDER BY f.path",
            (number,),
        ).fetchall()
        if not rows:
            return None
        index = _join([path for path, _ in rows], [bytes(data) for _, data in rows])
        complete = connection.execute("SELECT complete FROM code_roots WHERE n = ?", (number,)).fetchone()[0]
    if complete:
        with _guard:
            held.pop(project, None)
            held[project] = (run, index)
            while len(held) > MOST_KEPT:
                held.pop(next(iter(held)))
    return index


def _join(paths: Sequence[str], rows: Sequence[bytes]) -> WordIndex:
    headers = [_header(path, data) for path, data in zip(paths, rows, strict=True)]
    lines, chunks, postings, definitions, named = np.array(headers, dtype=np.int64).reshape(-1, 5).T
    columns = [
        _column(rows, start, counts, dtype)
        for start, counts, dtype in _layout(chunks, postings, definitions, named)
    ]
    firsts, lasts, lengths, terms, places, often, at, sizes, names, owners = columns
    first_chunk = np.concatenate([[0], np.cumsum(chunks)])
    first_definition = np.cumsum(definitions) - definitions
    files = np.arange(len(paths))
    words = [words_of_path(path) for path in paths]
    return WordIndex(
        tuple(paths),
        lines,
        np.array([path.count("/") for path in paths]),
        first_chunk,
        np.repeat(files, chunks),
        firsts,
        lasts,
        lengths.astype(np.float32),
        _sorted(terms, places + np.repeat(first_chunk[:-1], postings), often),
        np.repeat(files, definitions),
        at,
        sizes.astype(np.float32),
        _sorted(names, owners + np.repeat(first_definition, named), np.ones(len(names), dtype=np.uint8)),
        _files_of([one.name for one in words]),
        _files_of([(one.letters,) for one in words]),
        _files_of([one.folders for one in words]),
        np.array([len(one.name) for one in words]),
    )


def _files_of(words: Sequence[Sequence[str]]) -> dict[str, Array]:
    """Return word -> the files that have it."""
    found: dict[str, list[int]] = {}
    for file, own in enumerate(words):
        for word in own:
            found.setdefault(word, []).append(file)
    return {word: np.array(files) for word, files in found.items()}


def _header(path: str, data: bytes) -> tuple[int, ...]:
    found = HEADER.unpack_from(data) if len(data) >= HEADER.size else (0, 0, 0, 0, 0)
    _, chunks, postings, definitions, named = found
    if len(data) != HEADER.size + 10 * chunks + 7 * postings + 5 * definitions + 6 * named:
        raise StoreDamagedError(
            f'the words of "{path}" are damaged', hint="run: ragmem ingest --code --rebuild"
        )
    return found


def _layout(
    chunks: Array, postings: Array, definitions: Array, named: Array
) -> list[tuple[Array, Array, str]]:
    start = np.full(len(chunks), HEADER.size)
    found = []
    for counts, dtype in (
        (chunks, "<u4"),
        (chunks, "<u4"),
        (chunks, "<u2"),
        (postings, "<u4"),
        (postings, "<u2"),
        (postings, "<u1"),
        (definitions, "<u4"),
        (definitions, "<u1"),
        (named, "<u4"),
        (named, "<u2"),
    ):
        found.append((start, counts, dtype))
        start = start + counts * np.dtype(dtype).itemsize
    return found


def _column(rows: Sequence[bytes], starts: Array, counts: Array, dtype: str) -> Array:
    size = np.dtype(dtype).itemsize
    ends = (starts + counts * size).tolist()
    parts = [data[start:end] for data, start, end in zip(rows, starts.tolist(), ends, strict=True)]
    return np.frombuffer(b"".join(parts), dtype)


def _sorted(terms: Array, places: Array, frequencies: Array) -> Postings:
    order = np.argsort(terms, kind="stable")
    return Postings(terms[order].astype(np.int64), places[order].astype(np.int32), frequencies[order])
